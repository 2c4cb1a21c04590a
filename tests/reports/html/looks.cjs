// Pages looked at: without an error or a request, nothing blank or too wide, all rows there; both widths, both themes.
const path = require('node:path');
const { blankCharts, check, drawn, opened } = require('./browser.cjs');

async function looksAt(page, rows, name, { width, theme }, screenshots) {
  const at = `${name}, ${width} px, ${theme}`;
  const blank = await blankCharts(page);
  check(blank.length === 0, `${at}: blank: ${blank.join(', ')}`);
  const charts = await page.locator('[data-chart]').count();
  check(charts >= (name === 'memory' ? 1 : 3), `${at}: ${charts} charts`);
  for (const [table, wanted] of Object.entries(rows)) {
    const shown = await page.locator(`[data-table="${table}"] tbody tr`).count();
    check(shown === Math.min(wanted, 400), `${at}: ${shown} rows in the table of ${table}, ${wanted} in its file`);
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  check(wide <= 0, `${at}: ${wide} px wider than the window`);
  check(await page.evaluate(() => document.documentElement.dataset.theme) === theme, `${at}: theme`);
  check(await page.locator('#theme').innerText() !== theme, `${at}: the switch offers the other theme`);
  if (screenshots) await page.screenshot({ path: path.join(screenshots, `${name}-${width}-${theme}.png`), fullPage: true });
}

/** Opened in the first of the modes, which are of one width, and switched to the others. @returns {Promise<number>} milliseconds it took to open */
async function looks(browser, file, rows, name, modes, screenshots) {
  const { page, context, seen, took } = await opened(browser, file, modes[0]);
  for (const mode of modes) {
    if (mode !== modes[0]) {
      await page.emulateMedia({ colorScheme: mode.theme });
      await drawn(page);
    }
    await looksAt(page, rows, name, mode, screenshots);
  }
  check(seen.errors.length === 0, `${name}, ${modes[0].width} px: console errors: ${seen.errors.join('; ')}`);
  check(seen.requests.length === 1, `${name}, ${modes[0].width} px: requests: ${seen.requests.slice(1).join(', ')}`);
  await context.close();
  return took;
}

// Each theme is once the one that a page opens in.
const WIDE = [{ width: 1280, theme: 'light' }, { width: 1280, theme: 'dark' }], NARROW = [{ width: 390, theme: 'dark' }, { width: 390, theme: 'light' }];

module.exports = { looks, NARROW, WIDE };
