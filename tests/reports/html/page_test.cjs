// The page in a browser. Arguments: the browser, the folder that html_test.sh fills, and where screenshots go, if anywhere.
const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const { blankCharts, check, counts, csvRows, launched, opened, says, textOf } = require('./browser.cjs');
const { looks, NARROW, WIDE } = require('./looks.cjs');
const { merged } = require('./merged.cjs');
const { figuresInView, touched, used } = require('./used.cjs');
const { toldApart } = require('./told_apart.cjs');

const [browserPath, folder, screenshots] = process.argv.slice(2);
const AT_ONCE = 4; // pages, in processes of their own

/** A page of what is not a plain run says what it has to, by where on it, without an error, and nothing of what it does not know. */
async function told(browser, name, wanted, { file = path.join(folder, name, 'report.html'), absent = null } = {}) {
  const { page, context, seen } = await opened(browser, file);
  for (const [where, what] of Object.entries(wanted)) await says(page.locator(where), what, `${name}: ${where} says`);
  check(seen.errors.length === 0, `${name}: console errors: ${seen.errors.join('; ')}`);
  if (absent) check(await page.locator(absent).count() === 0, `${name}: ${absent} is there`);
  const blank = await blankCharts(page);
  check(blank.length === 0, `${name}: blank: ${blank.join(', ')}`);
  await context.close();
}

/** The first timeline is cut off; the rest of the page is there. */
async function brokenTold(browser) {
  const whole = fs.readFileSync(path.join(folder, 'names/report.html'), 'utf8');
  const broken = path.join(folder, 'broken.html');
  fs.writeFileSync(broken, whole.replace(/(data-file="timelines\/[^"]*">)([^<]{400})[^<]*/g, '$1$2'));
  await told(browser, 'broken', { '#timeline [role=status]': /This timeline is damaged/, '#plan .plans': /This timeline is damaged/ }, { file: broken });
}

/** The page without its files, and these in place of them. */
function pageWith(file, contents) {
  const empty = fs.readFileSync(path.join(folder, 'validation/report.html'), 'utf8').replace(/<script type="application\/gzip"[^>]*>[^<]*<\/script>\n/g, '');
  const elements = Object.entries(contents).map(([name, content]) => `<script type="application/gzip" data-file="${name}">${zlib.gzipSync(content).toString('base64')}</script>\n`);
  const at = empty.lastIndexOf('<script>');
  fs.writeFileSync(file, empty.slice(0, at) + elements.join('') + empty.slice(at));
}

/** Rows of the tables on a validation's page, by the files that it is of. */
function validationRows() {
  const ops = fs.readdirSync(path.join(folder, 'validation/ops')).map((name) => csvRows(path.join(folder, 'validation/ops', name)));
  const plans = csvRows(path.join(folder, 'validation/validation.csv'));
  return { validation: plans, ops: ops.reduce((sum, n) => sum + n, 0), 'worst ops': 10, worst: Math.min(10, plans), models: 2 };
}

/** Op by op, by plan and by what is called worst; the timeline has what was measured below what was predicted. */
async function measuredUsed(browser, file) {
  const { page, context, seen } = await opened(browser, file);
  check(!(await page.title()).includes('broken'), 'no name is run');
  await says(page.locator('#validation'), /Median error \d+ %, worst \d+ %/, 'validation: #validation says');
  await says(page.locator('#ops'), /\d+ kernels: [+-]?[\d.]+ % in sum, half of them within \d+ %/, 'validation: #ops says');
  await says(page.locator('#validation'), /was also measured fastest at [01] of 1 settings?/, 'whether the predictions choose well');
  for (const name of ['predicted', 'measured', 'error']) await figuresInView(page, '[data-table="worst ops"]', name);
  const ops = page.locator('#ops'), worst = ops.locator('[data-table="worst ops"]');
  const column = async (table, name) => {
    const at = (await table.locator('thead th').allTextContents()).findIndex((text) => text.startsWith(name));
    return table.locator(`tbody tr td:nth-child(${at + 1})`).evaluateAll((cells) => cells.map((c) => Number(c.title)));
  };
  const off = (await column(worst, 'difference')).map(Math.abs);
  check(off.length === 10 && off[0] > 0 && off.every((v, i) => i === 0 || v <= off[i - 1]), `the worst come first: ${off}`);
  await ops.locator('[data-value="ratio"]').click();
  const ratios = (await column(worst, 'error')).map((error) => Math.abs(Math.log(1 + error)));
  check(ratios.every((v, i) => i === 0 || v <= ratios[i - 1] + 1e-6), `by ratio the worst come first: ${ratios}`);
  const all = Number((await ops.locator('[data-table="ops"] [role=status]').textContent()).match(/^\d+/)[0]);
  await ops.locator('select').selectOption({ index: 1 });
  const some = Number((await ops.locator('[data-table="ops"] [role=status]').textContent()).match(/^\d+/)[0]);
  check(some > 0 && some < all, `one plan has ${some} of ${all} ops`);
  const timeline = page.locator('#measured-timeline');
  await timeline.locator('input[type=search]').fill('forward');
  await page.keyboard.press('Enter');
  const hits = Number((await textOf(timeline.locator('[role=status]'), /of \d+/)).match(/of (\d+)/)[1]);
  for (let i = 0; i < hits && !/predicted/.test(await timeline.locator('.detail').textContent()); ++i) await page.keyboard.press('Enter');
  check(/predicted.*%/.test(await timeline.locator('.detail').innerText().then((text) => text.replaceAll('\n', ' '))), 'a measured slice says what was predicted');
  check(seen.errors.length === 0, `errors while used: ${seen.errors.join('; ')}`);
  await context.close();
}

/** So many at a time, in their order. */
async function all(tasks, atOnce) {
  const left = [...tasks];
  const work = async () => { for (let task = left.shift(); task; task = left.shift()) await task(); };
  await Promise.all(Array.from({ length: atOnce }, work));
}

async function main() {
  const browser = await launched(browserPath);
  const calibration = path.join(folder, 'calibration.html');
  pageWith(calibration, { 'calibration.csv': fs.readFileSync(path.join(folder, 'calibration.csv')) });
  const page = (name) => path.join(folder, name, 'report.html');
  const sources = path.join(__dirname, '../../../reports/html/src');
  const results = (name) => csvRows(path.join(folder, name, 'results.csv'));
  const pages = [
    ['names', page('names'), { results: results('names') }], ['validation', page('validation'), validationRows()],
    ['memory', path.join(folder, 'memory.html'), { modules: 10, tensors: 5 }],
    ['calibration', calibration, { samples: csvRows(path.join(folder, 'calibration.csv')), worst: 10 }]];
  const sweep = async () => {
    const rows = results('sweep');
    const took = await looks(browser, page('sweep'), { results: rows }, 'sweep', [WIDE[0]], screenshots);
    console.log(`a sweep of ${rows} points opens in ${(took / 1000).toFixed(2)} s, others beside it`);
    check(rows === 500, `a sweep of ${rows} points, expected 500`);  // how long it took is told, and decides nothing
  };
  await all([
    sweep, () => used(browser, page('names')), () => touched(browser, page('names')), () => measuredUsed(browser, page('validation')),
    ...pages.flatMap(([name, file, rows]) => [WIDE, NARROW].map((modes) => () => looks(browser, file, rows, name, modes, screenshots))),
    () => told(browser, 'links', { '#throughput .controls': /link/, '#verdict': /cover 2 of 6 machines, links and memory limits/ }),
    () => told(browser, 'linked', { '#helps': /8.00 to 9.00 GB\/s\s+25 %\s+16.0 GB\/s/ }),
    () => told(browser, 'memory', { '#memory': /the peak is 5\d\d MB, at b31, in encoder\.3\.15/, '[data-table="tensors"]': /f31\.y\s+32\.0 MB/, '[data-table="modules"]': /encoder\.3/ }, { file: path.join(folder, 'memory.html'), absent: '#timeline, #validation' }),
    () => told(browser, 'old', { '#verdict': /is fastest at batch/ }, { absent: '#helps, .strategies' }), () => brokenTold(browser), () => merged(sources), () => toldApart(sources)], AT_ONCE);
  await browser.close();
  const { passed, failed } = counts();
  console.log(`${passed} checks passed, ${failed} failed`);
  process.exit(failed > 0 ? 1 : 0);
}

main().catch((error) => { console.error(error); process.exit(1); });
