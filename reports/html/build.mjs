// Makes dist/page.html of src/: one file, the same bytes for the same package-lock.json.
//   npm ci && npm run build       writes it
//   npm run check                 exits with 1 where the one that is there is another
import { build } from 'esbuild';
import { readFileSync, writeFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const read = (...path) => readFileSync(join(here, ...path), 'utf8');

const bundled = await build({
  entryPoints: [join(here, 'src/main.js')], bundle: true, minify: true, format: 'iife', target: ['es2022'], charset: 'utf8',
  legalComments: 'none', write: false, logLevel: 'warning', define: { 'process.env.NODE_ENV': '"production"' },
});
const style = await build({ entryPoints: [join(here, 'src/style.css')], minify: true, write: false, logLevel: 'warning' });

// What would end the element that holds it.
const inScript = (text) => text.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--').trimEnd();
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const fill = (page, mark, text) => {
  if (page.split(mark).length !== 2) throw new Error(`${mark} must be there once`);
  return page.split(mark).join(text);
};

// Whoever passes the page on passes on what these ask for.
const notice = () => ['echarts/NOTICE', 'echarts/LICENSE', 'echarts/licenses/LICENSE-d3', 'zrender/LICENSE', 'tslib/LICENSE.txt']
  .map((file) => `==== ${file}\n\n${read('node_modules', file).trim()}\n`).join('\n');

let page = read('src/page.html');
page = fill(page, '/*STYLE*/', style.outputFiles[0].text.trimEnd());
page = fill(page, '/*NOTICE*/', escaped(notice()));
page = fill(page, '/*SCRIPT*/', inScript(bundled.outputFiles[0].text));

const target = join(here, 'dist/page.html');
if (process.argv.includes('--check')) {
  if (read('dist/page.html') !== page) {
    console.error('reports/html/dist/page.html is not what its sources make: npm run build');
    process.exit(1);
  }
  console.log('dist/page.html is what its sources make');
} else {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, page);
  console.log(`dist/page.html: ${(Buffer.byteLength(page) / 1024).toFixed(0)} KiB`);
}
