// The page in a browser. Arguments: the browser, the folder with names/ and sweep/, and where screenshots go, if anywhere.
const { chromium } = require('playwright-core');
const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');

const [browserPath, folder, screenshots] = process.argv.slice(2);
let failed = 0, passed = 0;
const check = (holds, what) => { if (holds) ++passed; else { ++failed; console.error(`FAILED: ${what}`); } };

/** RFC 4180: the cells of each line. */
function csvCells(file) {
  const rows = [[]];
  let cell = '', quoted = false;
  for (const c of fs.readFileSync(file, 'utf8')) {
    if (c === '"') quoted = !quoted;
    else if (!quoted && (c === ',' || c === '\n')) {
      rows[rows.length - 1].push(cell);
      cell = '';
      if (c === '\n') rows.push([]);
    } else cell += c;
  }
  return rows.slice(0, -1);
}
const csvRows = (file) => csvCells(file).length - 1;

async function opened(browser, file, { width, theme }) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme });
  const page = await context.newPage();
  const seen = { errors: [], requests: [] };
  page.on('console', (message) => { if (message.type() === 'error' || message.type() === 'warning') seen.errors.push(message.text()); });
  page.on('pageerror', (error) => seen.errors.push(error.stack));
  page.on('request', (request) => seen.requests.push(request.url()));
  const begun = Date.now();
  await page.goto(`file://${file}`);
  await page.waitForSelector('html[data-ready]');
  await page.waitForFunction(() => [...document.querySelectorAll('[data-chart]')].every((e) => e.clientHeight === 0 || e.querySelector('canvas')));
  return { page, context, seen, took: Date.now() - begun };
}

/** Charts that show no data: fewer coloured pixels than a few marks have. Axes, their labels and paper are greys. */
const LEAST_COLOURED = 80, GREY = 30;
const blankCharts = (page) => page.evaluate(([least, grey]) => [...document.querySelectorAll('[data-chart]')].filter((element) => {
  if (element.clientHeight === 0) return false;
  const canvas = element.querySelector('canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let coloured = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] > 128 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > grey) ++coloured;
  }
  return coloured < least;
}).map((element) => element.dataset.chart), [LEAST_COLOURED, GREY]);

/** With all columns shown: every number of the rows on the page is the one of results.csv. */
async function cellsAgree(table, file) {
  const [head, ...rows] = csvCells(file);
  const names = (await table.locator('thead th').allTextContents()).map((text) => text.replace(/ [↓↑]$/, ''));
  const shown = await table.locator('tbody tr').evaluateAll((lines) => lines.map((line) => [...line.children].map((c) => c.title)));
  const column = (key) => names.indexOf(key.replace(/_bytes$/, '').replace(/_s$/, '').replaceAll('_', ' '));
  let compared = 0;
  head.forEach((key, k) => {
    if (column(key) < 0) return;
    rows.forEach((row, i) => {
      const title = shown[i][column(key)];
      if (row[k] === '' || title === '') return;
      ++compared;
      const [ours, wanted] = [Number(title), Number(row[k])];
      const lastDigit = 10 ** -(row[k].split('.')[1] ?? '').length;
      check(Math.abs(ours - wanted) <= 0.51 * lastDigit, `${key} of row ${i + 1}: ${title} on the page, ${row[k]} in results.csv`);
    });
  });
  check(compared > 15 * rows.length, `${compared} cells compared`);
}

async function looks(browser, file, rows, name, mode) {
  const { page, context, seen } = await opened(browser, file, mode);
  const at = `${name}, ${mode.width} px, ${mode.theme}`;
  check(seen.errors.length === 0, `${at}: console errors: ${seen.errors.join('; ')}`);
  check(seen.requests.length === 1, `${at}: requests: ${seen.requests.slice(1).join(', ')}`);
  const blank = await blankCharts(page);
  check(blank.length === 0, `${at}: blank: ${blank.join(', ')}`);
  const charts = await page.locator('[data-chart]').count();
  check(charts >= 3, `${at}: ${charts} charts`);
  for (const [name, wanted] of Object.entries(rows)) {
    const shown = await page.locator(`[data-table="${name}"] tbody tr`).count();
    check(shown === Math.min(wanted, 400), `${at}: ${shown} rows in the table of ${name}, ${wanted} in its file`);
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  check(wide <= 0, `${at}: ${wide} px wider than the window`);
  check(await page.evaluate(() => document.documentElement.dataset.theme) === mode.theme, `${at}: theme`);
  if (screenshots) await page.screenshot({ path: path.join(screenshots, `${name}-${mode.width}-${mode.theme}.png`), fullPage: true });
  await context.close();
}

async function used(browser, file) {
  const { page, context, seen } = await opened(browser, file, { width: 1280, theme: 'light' });
  const title = 'a "quoted" name </script><script>document.title=\'broken\'</script> <!-- über \\x07 \'it\'';
  check(await page.locator('h1').textContent() === title, `names appear as they are: ${await page.locator('h1').textContent()}`);
  check((await page.title()).startsWith('a "quoted"'), 'no name is run');
  // Hover.
  const bars = page.locator('#time [data-chart]').first();
  await bars.scrollIntoViewIfNeeded();
  const box = await bars.boundingBox();
  await page.mouse.move(box.x + 200, box.y + 70);
  await page.waitForTimeout(150);
  check(await page.locator('.tip').first().isVisible(), 'hovering a bar tells what it is');
  // Zoom by the keyboard, search, a bar's details, a stall's cause.
  const status = page.locator('#timeline [role=status]');
  const canvas = page.locator('#timeline [data-chart]');
  await canvas.scrollIntoViewIfNeeded();
  const before = await canvas.screenshot();
  await canvas.focus();
  for (let i = 0; i < 4; ++i) await page.keyboard.press('+');
  await page.waitForTimeout(200);
  check(!before.equals(await canvas.screenshot()), 'the timeline zooms');
  await page.keyboard.press('0');
  await page.waitForTimeout(200);
  check(/bars drawn/.test(await status.textContent()), 'it says how much it draws');
  await page.locator('#timeline input[type=search]').fill('waits for swap-');
  await page.keyboard.press('Enter');
  await page.waitForTimeout(200);
  const cause = page.locator('#timeline .detail .button');
  if (await cause.count() > 0) {
    await cause.click();
    const led = await page.locator('#timeline .detail h4').textContent();
    check(/^swap-/.test(led), `from a stall to its cause: ${led}`);
  } else check(false, `a stall names its cause: ${await page.locator('#timeline .detail').textContent()}`);
  // Plans: along the maps by keyboard.
  await page.locator('#plan svg').first().focus();
  await page.keyboard.press('ArrowRight');
  check(/Copying it out and in takes/.test(await page.locator('#plan .says').textContent()), 'a map tells what it costs');
  check(await page.locator('#plan svg').count() === 2, 'two plans are above each other');
  check(seen.errors.length === 0, `errors while used: ${seen.errors.join('; ')}`);
  // Tables: sort, all columns, filter.
  const results = page.locator('[data-table="results"]');
  await results.locator('th button', { hasText: 'step time' }).first().click();
  const column = await results.locator('thead th').evaluateAll((heads) => heads.findIndex((e) => e.getAttribute('aria-sort') !== 'none'));
  const values = await results.locator(`tbody tr td:nth-child(${column + 1})`).evaluateAll((cells) => cells.map((c) => Number(c.title)).filter((v) => v > 0));
  check(values.length > 3 && values.every((v, i) => i === 0 || v <= values[i - 1]), 'a column sorts');
  await results.locator('.button', { hasText: 'columns' }).click();
  check(await results.locator('thead th').count() > 40, 'all columns of results.csv are there');
  await context.close();
  await otherwiseUsed(browser, file);
}

async function otherwiseUsed(browser, file) {
  const { page, context, seen } = await opened(browser, file, { width: 1280, theme: 'light' });
  const results = page.locator('[data-table="results"]');
  await results.locator('.button', { hasText: 'columns' }).click();
  await cellsAgree(results, path.join(folder, 'names/results.csv'));
  // Along the bars by keyboard, to a timeline.
  await page.locator('#time [data-chart]').first().focus();
  for (let i = 0; i < 2; ++i) await page.keyboard.press('ArrowDown');
  check(await page.locator('.tip').first().isVisible(), 'the arrow keys go along the bars');
  await results.locator('input').fill('nvlink');
  check(await results.locator('tbody tr').count() * 2 === csvRows(path.join(folder, 'names/results.csv')), 'rows are filtered');
  // The switch, and paper.
  await page.locator('#theme').click();
  check(await page.evaluate(() => document.documentElement.dataset.theme) === 'dark', 'the theme switches');
  check((await blankCharts(page)).length === 0, 'charts are drawn again in it');
  await page.emulateMedia({ media: 'print' });
  check(!(await page.locator('nav').isVisible()), 'paper has no navigation');
  check(seen.errors.length === 0, `errors while used: ${seen.errors.join('; ')}`);
  await context.close();
}

/** Pages of what is not a plain run: each says what it has to, without an error, but where it is broken. */
async function others(browser) {
  const told = async (name, where, wanted, file = path.join(folder, name, 'report.html')) => {
    const { page, context, seen } = await opened(browser, file, { width: 1280, theme: 'light' });
    await page.waitForTimeout(300);
    const text = await page.locator(where).first().innerText();
    check(wanted.test(text), `${name}: ${where} says ${text}`);
    check(seen.errors.length === 0, `${name}: console errors: ${seen.errors.join('; ')}`);
    const blank = await blankCharts(page);
    check(blank.length === 0, `${name}: blank: ${blank.join(', ')}`);
    await context.close();
  };
  await told('links', '#throughput .controls', /link/);
  await told('links', '#verdict', /Told are 2 of 6 machines, links and memory limits/);
  await told('old', '#verdict', /is fastest at batch/);
  await told('validation', '#validation', /Median error \d+ %, worst \d+ %/);
  await told('validation', '#ops', /\d+ kernels: [+-]?[\d.]+ % in sum, half of them within \d+ %/);
  // The first timeline is cut off; the rest of the page is there.
  const whole = fs.readFileSync(path.join(folder, 'names/report.html'), 'utf8');
  const broken = path.join(folder, 'broken.html');
  fs.writeFileSync(broken, whole.replace(/(data-file="timelines\/[^"]*">)([^<]{400})[^<]*/g, '$1$2'));
  await told('broken', '#timeline [role=status]', /This timeline is damaged/, broken);
  await told('broken', '#plan .plans', /This timeline is damaged/, broken);
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
  const { page, context, seen } = await opened(browser, file, { width: 1280, theme: 'light' });
  check(!(await page.title()).includes('broken'), 'no name is run');
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
  const chart = ops.locator('[data-chart]');
  await chart.scrollIntoViewIfNeeded();
  const timeline = page.locator('#measured-timeline');
  await timeline.locator('input[type=search]').fill('forward');
  await page.keyboard.press('Enter');
  await page.waitForTimeout(200);
  const hits = Number((await timeline.locator('[role=status]').textContent()).match(/of (\d+)/)[1]);
  for (let i = 0; i < hits && !/predicted/.test(await timeline.locator('.detail').textContent()); ++i) await page.keyboard.press('Enter');
  check(/predicted.*%/.test(await timeline.locator('.detail').innerText().then((text) => text.replaceAll('\n', ' '))), 'a measured slice says what was predicted');
  check(seen.errors.length === 0, `errors while used: ${seen.errors.join('; ')}`);
  await context.close();
}

/** However much there is and however many pixels: at most so many bars, and every slice is in one of them. */
async function merged(source) {
  const { Trace, barsOf, curveOf, MOST_BARS } = await import(path.join(source, 'trace.js'));
  const slices = 300000;
  const traceEvents = [{ ph: 'M', name: 'thread_name', pid: 1, tid: 0, args: { name: 'compute (stream 0)' } }];
  for (let i = 0; i < slices; ++i) {
    traceEvents.push({ name: `op${i}`, cat: i % 50 === 0 ? 'recompute' : 'kernel', ph: 'X', pid: 1, tid: 0, ts: 2 * i, dur: 1.5, args: { instruction: i } });
    if (i % 3 === 0) traceEvents.push({ name: 'live memory', ph: 'C', pid: 1, tid: 0, ts: 2 * i, args: { feature_map: i } });
  }
  const trace = new Trace(JSON.stringify({ traceEvents }));
  for (const pixels of [300, 1100, 5e6]) {
    const { bars, merged: lost } = barsOf(trace, 0, trace.end, pixels);
    check(bars.length > 0 && bars.length <= MOST_BARS, `${bars.length} bars on ${pixels} pixels`);
    check(bars.reduce((sum, bar) => sum + bar.count, 0) === slices && bars.length + lost === slices, `no slice is lost on ${pixels} pixels`);
    check(curveOf(trace, 0, trace.end, Math.min(pixels, 4000)).length <= Math.min(pixels, 4000) + 2, 'the memory curve is as long as it is wide');
  }
  const close = barsOf(trace, 0.1, 0.1001, 1000);
  check(close.merged === 0 && close.bars.length >= 50, 'from near all slices are there');
}

/** What more memory would spare, as the verdict says it: in the page, as it needs one. */
async function moreMemory(browser, file) {
  const { page, context } = await opened(browser, file, { width: 1280, theme: 'light' });
  await page.waitForTimeout(300);
  const text = await page.locator('#verdict').innerText();
  check(/15\.0 MB more of memory would (make pooch about \d+ % faster|bring pooch next to nothing) at batch 128/.test(text), `what more memory brings is said: ${text}`);
  await context.close();
}

async function main() {
  await merged(path.join(__dirname, '../../../reports/html/src'));
  const browser = await chromium.launch({ executablePath: browserPath, args: ['--disable-dev-shm-usage'] });
  const calibration = path.join(folder, 'calibration.html');
  pageWith(calibration, { 'calibration.csv': fs.readFileSync(path.join(folder, 'calibration.csv')) });
  const files = ['names', 'sweep'].map((name) => path.join(folder, name, 'report.html'));
  const rows = ['names', 'sweep'].map((name) => csvRows(path.join(folder, name, 'results.csv')));
  for (const width of [1280, 390]) {
    for (const theme of ['light', 'dark']) {
      await looks(browser, files[0], { results: rows[0] }, 'names', { width, theme });
      await looks(browser, path.join(folder, 'validation/report.html'), validationRows(), 'validation', { width, theme });
      await looks(browser, calibration, { samples: csvRows(path.join(folder, 'calibration.csv')), worst: 10 }, 'calibration', { width, theme });
    }
  }
  await looks(browser, files[1], { results: rows[1] }, 'sweep', { width: 1280, theme: 'light' });
  await used(browser, files[0]);
  await moreMemory(browser, files[0]);
  await measuredUsed(browser, path.join(folder, 'validation/report.html'));
  await others(browser);
  let took = Infinity; // the least of some: others may be at work here
  for (let i = 0; i < 4; ++i) {
    const one = await opened(browser, files[1], { width: 1280, theme: 'light' });
    await one.context.close();
    took = Math.min(took, one.took);
  }
  console.log(`a sweep of ${rows[1]} points opens in ${(took / 1000).toFixed(2)} s`);
  check(rows[1] === 500, `a sweep of ${rows[1]} points, expected 500`);  // how long it took is told, and decides nothing
  await browser.close();
  console.log(`${passed} checks passed, ${failed} failed`);
  process.exit(failed > 0 ? 1 : 0);
}

main().catch((error) => { console.error(error); process.exit(1); });
