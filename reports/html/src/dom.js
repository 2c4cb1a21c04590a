// Elements without a framework. Text is always text: names from files never become markup.

/**
 * h('p', {class: 'note'}, 'text', h('b', {}, 'bold')). Attributes that are functions are listeners, `null` leaves one out.
 * @param {string} tag @param {Object<string, any>} attributes @param {...(Node|string|null)} children
 */
export function h(tag, attributes = {}, ...children) {
  const svg = SVG_TAGS.has(tag);
  const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    element.append(child);
  }
  return element;
}
const SVG_TAGS = new Set(['svg', 'rect', 'line', 'path', 'g', 'text', 'circle', 'polygon', 'pattern', 'defs', 'title']);

export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((c) => c !== null && c !== undefined));
  return element;
}

/** What a name may hold that nobody can see: control characters become visible, as on the console. */
export const literal = (text) =>
  String(text).replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => {
    const code = c.codePointAt(0);
    return code < 0x80 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });

let counter = 0;
export const freshId = (stem) => `${stem}-${++counter}`;

/** One of several, as buttons that the arrow keys move along. */
export function segmented(label, choices, chosen, onChoose) {
  const group = h('div', { class: 'segmented', role: 'radiogroup', 'aria-label': label });
  const show = (value) => {
    for (const button of group.children) {
      const on = button.dataset.value === String(value);
      button.setAttribute('aria-checked', String(on));
      button.tabIndex = on ? 0 : -1;
    }
  };
  for (const [value, text] of choices) {
    group.append(h('button', { type: 'button', role: 'radio', 'data-value': value, click: () => { show(value); onChoose(value); } }, text));
  }
  group.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...group.children];
    const next = buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length];
    next.focus();
    next.click();
  });
  show(chosen);
  return group;
}

/** A labelled list to choose from. */
export function select(label, choices, chosen, onChoose) {
  const id = freshId('select');
  const list = h('select', { id, change: () => onChoose(choices[list.selectedIndex][0]) },
    choices.map(([value, text]) => h('option', { selected: value === chosen }, text)));
  return h('span', { class: 'field' }, h('label', { for: id }, label), list);
}
