// The files behind the page: those of the folder that it was made of, compressed; and one that somebody opens.

const holder = (name) => [...document.querySelectorAll('script[data-file]')].find((s) => s.dataset.file === name);

export const has = (name) => holder(name) !== undefined;

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).text();
}

/** @param {string} name as in the folder @returns {Promise<string|null>} null: the page does not have it */
export async function text(name) {
  const script = holder(name);
  if (!script) return null;
  const binary = atob(script.textContent);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return inflate(bytes);
}

/** The text of a file that the user opens, whether it is compressed or not. */
export async function unpacked(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const packed = bytes[0] === 0x1f && bytes[1] === 0x8b;
  return packed ? inflate(bytes) : new TextDecoder().decode(bytes);
}

/** RFC 4180. @returns {Object<string, string>[]} rows by the names of the first line */
export function csv(content) {
  const rows = [];
  let row = [], cell = '', quoted = false;
  for (let i = 0; i < content.length; ++i) {
    const c = content[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (content[i + 1] === '"') cell += content[++i];
      else quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === ',') { row.push(cell); cell = ''; }
    else if (c === '\n') { row.push(cell); rows.push(row); row = []; cell = ''; }
    else if (c !== '\r') cell += c;
  }
  if (cell !== '' || row.length > 0) { row.push(cell); rows.push(row); }
  const [head, ...rest] = rows;
  return rest.map((cells) => Object.fromEntries(head.map((name, k) => [name, cells[k] ?? ''])));
}
