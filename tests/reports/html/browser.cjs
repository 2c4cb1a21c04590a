// What the checks of pages share: counted checks, files of results, a page opened in a context of its own.
const { chromium } = require('playwright-core');
const fs = require('node:fs');

let failed = 0, passed = 0;
const check = (holds, what) => { if (holds) ++passed; else { ++failed; console.error(`FAILED: ${what}`); } };
const counts = () => ({ passed, failed });

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

const launched = (executablePath) => chromium.launch({ executablePath, args: ['--disable-dev-shm-usage'] });

async function opened(browser, file, { width = 1280, theme = 'light', finger = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme, hasTouch: finger, isMobile: finger });
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

/** Charts draw in the frame after they are told to. */
const drawn = (page) => page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))); }));

/** Units stand behind their numbers without a break. */
const plain = (text) => text.replaceAll('\u00a0', ' ');

/** The first text of the element that is as wanted, else the last one: what a page says may come a moment later. */
async function textOf(locator, wanted, within = 5000) {
  const end = Date.now() + within;
  for (;;) {
    const text = (await locator.count()) > 0 ? plain(await locator.first().innerText()) : '';
    if (wanted.test(text) || Date.now() > end) return text;
    await new Promise((done) => { setTimeout(done, 20); });
  }
}

async function says(locator, wanted, what) {
  const text = await textOf(locator, wanted);
  check(wanted.test(text), `${what}: ${text}`);
  return text;
}

const shows = (locator, what) => locator.first().waitFor({ state: 'visible', timeout: 5000 }).then(() => check(true, what), () => check(false, what));

/** What a tooltip says has to be seen: the whole of it is in the window, on the theme's paper. */
async function tipSeen(chart, what) {
  const tip = chart.locator('.tip');
  await shows(tip, what);
  const [{ left, top, right, bottom }, window, paper, ink] = await tip.evaluate((element) => {
    const box = element.parentElement, style = getComputedStyle(box), root = getComputedStyle(document.documentElement);
    const colour = (name) => { box.style.outlineColor = root.getPropertyValue(name); return getComputedStyle(box).outlineColor; };
    return [box.getBoundingClientRect().toJSON(), [innerWidth, innerHeight], [style.backgroundColor, colour('--paper')], [style.color, colour('--ink')]];
  });
  check(left >= 0 && top >= 0 && right <= window[0] && bottom <= window[1], `${what}, in the window: ${[left, top, right, bottom]} of ${window}`);
  check(paper[0] === paper[1] && ink[0] === ink[1], `${what}, on the theme's paper: ${paper}, ${ink}`);
}

/** Charts that show no data: fewer coloured pixels than a few marks have. Axes, their labels and paper are greys. */
const LEAST_COLOURED = 80, GREY = 30;
const blankCharts = (page) => page.evaluate(([least, grey]) => [...document.querySelectorAll('[data-chart]')].filter((element) => {
  if (element.clientHeight === 0) return false;
  const { width, height } = element.querySelector('canvas');
  const pen = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d', { willReadFrequently: true });
  pen.drawImage(element.querySelector('canvas'), 0, 0);
  const { data } = pen.getImageData(0, 0, width, height);
  let coloured = 0;
  for (let i = 0; i < data.length && coloured < least; i += 4) {
    if (data[i + 3] > 128 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > grey) ++coloured;
  }
  return coloured < least;
}).map((element) => element.dataset.chart), [LEAST_COLOURED, GREY]);

module.exports = { blankCharts, check, counts, csvCells, csvRows, drawn, launched, opened, plain, says, shows, textOf, tipSeen };
