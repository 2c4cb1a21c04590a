// The page of a run used: pointer, keyboard, tables, paper; and what it says of strategies and memory against results.json.
const fs = require('node:fs');
const path = require('node:path');
const { blankCharts, check, csvCells, csvRows, drawn, opened, plain, says, shows, textOf, tipSeen } = require('./browser.cjs');

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

async function namesAppear(page) {
  const title = 'a "quoted" name </script><script>document.title=\'broken\'</script> <!-- über \\x07 \'it\'';
  check(await page.locator('h1').textContent() === title, `names appear as they are: ${await page.locator('h1').textContent()}`);
  check((await page.title()).startsWith('a "quoted"'), 'no name is run');
}

/** Each strategy of the rows by name, with the sentence and the source that results.json has of it. */
async function strategiesExplained(page, document) {
  const shown = await page.locator('.strategies > div').allInnerTexts();
  const named = new Set(document.results.map((row) => row.strategy));
  check(document.strategies.length === named.size && shown.length === named.size, `${shown.length} of ${named.size} strategies are explained`);
  for (const { strategy, description, source } of document.strategies) {
    const own = shown.find((text) => text.startsWith(strategy)) ?? '';
    check(own.toLowerCase().includes(description.toLowerCase()) && own.includes(source), `${strategy}: ${own}`);
  }
}

/** What more memory brings: a line for each answer of results.json, the same numbers, and a sentence for each machine. */
async function memoryTold(page, document) {
  const rows = new Map(document.results.map((row) => [row.point, row]));
  const lines = await page.locator('#helps tbody tr').allInnerTexts();
  const places = lines.filter((text) => !text.includes('\t')), answers = lines.filter((text) => text.includes('\t'));
  check(answers.length === document.what_helps.length && answers.length === 6, `${answers.length} lines of ${document.what_helps.length} answers`);
  check(places.length === 2 && places.every((text) => /v100-.*, 60\.0 MB \+ 15 MB$/.test(plain(text))), `whose they are: ${places}`);
  document.what_helps.forEach(({ point, memory_step_time_s: then }, i) => {
    const row = rows.get(point), gain = Math.max(0, row.step_time_s / then - 1), cells = plain(answers[i]).split('\t');
    check(cells[0] === String(row.batch) && cells[1] === row.strategy, `whose line it is: ${answers[i]}`);
    check(Math.abs(Number(cells[3]) - row.samples_per_second * (1 + gain)) <= 0.006 * Number(cells[3]), `throughput with more memory: ${cells[3]} for ${row.samples_per_second} and ${gain}`);
    check(cells[4] === (gain < 0.005 ? 'nothing' : `${Math.round(100 * gain)} %`), `gain: ${cells[4]} for ${gain}`);
    const card = gain < 0.005 ? new RegExp(`nothing (gets faster )?at (batch )?[\\d, and]*\\b${row.batch}\\b`) : new RegExp(`\\b${Math.round(100 * gain)} % (faster )?at (batch )?${row.batch}\\b`);
    cards.push([row.machine, card]);
  });
  for (const [machine, card] of cards.splice(0)) {
    const text = plain(await page.locator('.verdict', { hasText: machine }).innerText());
    check(card.test(text), `15 MB more on ${machine}, expected ${card}: ${text}`);
  }
}
const cards = [];

/** The bars of each machine by step, by name and by memory, as results.json has them; what does not run comes last. */
async function barsSorted(page, document) {
  const orders = {
    step: (row) => (row.feasible ? row.step_time_s : Infinity), memory: (row) => (row.feasible ? row.peak_bytes : Infinity), name: (row) => row.strategy };
  const charts = () => page.locator('#time figure').evaluateAll((all) => all.map((one) => [one.querySelector('figcaption').textContent, one.querySelector('[data-rows]').dataset.rows]));
  const listed = await charts();
  for (const [order, key] of [...Object.entries(orders), ['listed', null]]) {
    await page.locator(`#time [aria-label=order] [data-value=${order}]`).click();
    for (const [place, shown] of await charts()) {
      const [, machine, batch] = place.match(/^(\S+), batch (\d+)/);
      const rows = document.results.filter((row) => row.machine === machine && row.batch === Number(batch));
      if (key) rows.sort((a, b) => (key(a) === key(b) ? 0 : key(a) < key(b) ? -1 : 1));
      const wanted = rows.map((row) => row.strategy).join(' ');
      check(shown === wanted, `bars ${order} on ${machine}: ${shown}, expected ${wanted}`);
    }
  }
  check(JSON.stringify(await charts()) === JSON.stringify(listed) && listed.length === 2, `as listed again: ${listed}`);
}

async function timelineUsed(page) {
  const status = page.locator('#timeline [role=status]');
  const canvas = page.locator('#timeline [data-chart]');
  await canvas.scrollIntoViewIfNeeded();
  const picture = () => canvas.evaluate((element) => element.querySelector('canvas').toDataURL());
  const before = await picture();
  await canvas.focus();
  for (let i = 0; i < 4; ++i) await page.keyboard.press('+');
  await drawn(page);
  check(before !== await picture(), 'the timeline zooms');
  await page.keyboard.press('0');
  await says(status, /bars drawn/, 'it says how much it draws');
  await page.locator('#timeline input[type=search]').fill('waits for swap-');
  await page.keyboard.press('Enter');
  const cause = page.locator('#timeline .detail .button');
  await shows(cause, 'a stall names its cause');
  await says(page.locator('#timeline .detail'), /holds up\s+\S+/, 'a stall says what it holds up');
  await cause.click();
  await says(page.locator('#timeline .detail h4'), /^swap-/, 'from a stall to its cause');
  await page.locator('#timeline input[type=search]').fill('conv1');
  await page.keyboard.press('Enter');
  await says(page.locator('#timeline .detail h4'), /^conv1:/, 'what is called so is found before what waits for it');
  const { x, y, width, height } = await canvas.boundingBox();
  await page.mouse.move(x + width / 2, y + height - 110);
  await says(canvas.locator('.tip'), /B at [\s\S]*parameter[\s\S]*of the limit\s+\d+ %/, 'pointing at the memory says what lies in it');
  await tipSeen(canvas, 'what lies in memory');
}

async function tablesUsed(page) {
  const csv = path.join(path.dirname(new URL(page.url()).pathname), 'results.csv');
  const results = page.locator('[data-table="results"]');
  await results.locator('.button', { hasText: 'columns' }).click();
  check(await results.locator('thead th').count() > 40, 'all columns of results.csv are there');
  check(/^step_time_s \/ lower_bound_s/.test(await results.locator('th button', { hasText: /^gap/ }).getAttribute('title')), 'columns say what they mean');
  await cellsAgree(results, csv);
  await results.locator('input').fill('nvlink');
  check(await results.locator('tbody tr').count() * 2 === csvRows(csv), 'rows are filtered');
  const strategies = csvCells(csv), column = (name) => strategies[0].indexOf(name);
  const wanted = strategies.filter((row) => row[column('strategy')] === 'pooch' && row[column('batch')] === '64').length;
  await results.locator('.button', { hasText: 'columns' }).click();
  await results.locator('input').fill('pooch 64');
  check(wanted === 2 && await results.locator('tbody tr').count() === wanted, `by two words, of which a figure is a whole one: ${await results.locator('tbody tr').count()} of ${wanted}`);
  await results.locator('input').fill('');
  await results.locator('th button', { hasText: 'step time' }).first().click();
  const sorted = await results.locator('thead th').evaluateAll((heads) => heads.findIndex((e) => e.getAttribute('aria-sort') !== 'none'));
  const values = await results.locator(`tbody tr td:nth-child(${sorted + 1})`).evaluateAll((cells) => cells.map((c) => Number(c.title)).filter((v) => v > 0));
  check(values.length > 3 && values.every((v, i) => i === 0 || v <= values[i - 1]), 'a column sorts');
}

/** On A4: no chart is wider than its place, all is as wide as the paper, and what colours mean is printed. */
async function paperFits(page) {
  await page.setViewportSize({ width: 718, height: 1000 });  // 19 cm
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  await drawn(page);
  const charts = await page.locator('[data-chart]').evaluateAll((all) => all.map((e) => [e.dataset.chart, e.querySelector('canvas').clientWidth, e.parentElement.clientWidth]));
  check(charts.every(([, own, place]) => own <= place && own > 0.8 * place), `charts are as wide as paper: ${charts.map((one) => one.join(' ')).join('; ')}`);
  const keys = await page.locator('.legend i').evaluateAll((all) => all.map((e) => getComputedStyle(e).printColorAdjust));
  check(keys.length > 10 && keys.every((value) => value === 'exact'), `legends have their colours on paper: ${[...new Set(keys)]}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(wide <= 0, `${wide} px wider than the paper`);
  check(await page.evaluate(() => document.documentElement.dataset.theme) === 'light', 'paper is light');
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  check(await page.evaluate(() => document.documentElement.dataset.theme) === 'dark', 'the screen is as it was');
}

/** By finger on a narrow screen: a first tap tells, a second goes on; figures are beside the strategies. */
async function touched(browser, file) {
  const { page, context, seen } = await opened(browser, file, { width: 390, finger: true });
  const bars = page.locator('#time [data-chart]').first();
  await bars.evaluate((element) => element.scrollIntoView({ block: 'center' }));
  await drawn(page);
  const chosen = page.locator('#timeline select').last(), before = await chosen.inputValue();
  const tap = async () => { const box = await bars.boundingBox(); await page.touchscreen.tap(box.x + 110, box.y + 70); await drawn(page); };
  const place = () => page.evaluate(() => scrollY);
  const start = await place();
  await tap();
  await tipSeen(bars, 'a tap tells what a bar is');
  check(await place() === start && await chosen.inputValue() === before, 'a first tap stays where it is');
  await tap();
  await page.waitForFunction((from) => scrollY > from + 100, start);
  check(await chosen.inputValue() === 'swap-all' && before !== 'swap-all', `a second tap goes to its timeline: ${await chosen.inputValue()}`);
  await figuresInView(page, '[data-table="results"]', 'samples per second');
  check(seen.errors.length === 0, `errors while touched: ${seen.errors.join('; ')}`);
  await context.close();
}

/** The column is seen without scrolling the table to its side. */
async function figuresInView(page, table, name) {
  const right = await page.locator(`${table} th`, { hasText: name }).first().evaluate((e) => [e.getBoundingClientRect().right, e.closest('.scroll').getBoundingClientRect().right]);
  check(right[0] <= right[1], `${table}: ${name} ends at ${right[0]} of ${right[1]}`);
}

async function used(browser, file) {
  const { page, context, seen } = await opened(browser, file);
  const document = JSON.parse(fs.readFileSync(path.join(path.dirname(file), 'results.json'), 'utf8'));
  await namesAppear(page);
  await strategiesExplained(page, document);
  await memoryTold(page, document);
  const idle = [...new Set(document.results.filter((row) => !row.feasible).map((row) => row.strategy))];
  const gaps = await textOf(page.locator('#throughput > .note'), /Does not run:/);
  check(idle.length > 0 && idle.every((strategy) => new RegExp(`Does not run:.*${strategy} at \\d+`).test(gaps)), `who does not run where: ${idle} in ${gaps}`);
  // Along the bars by keyboard and by pointer.
  check(await page.locator('#time select').first().inputValue() === '64', 'the bars begin where training in core does not run and most others do');
  const bars = page.locator('#time [data-chart]').first(), tip = page.locator('.tip');
  await bars.focus();
  for (let i = 0; i < 2; ++i) await page.keyboard.press('ArrowDown');
  await shows(tip, 'the arrow keys go along the bars');
  await page.keyboard.press('Escape');
  await bars.scrollIntoViewIfNeeded();
  await tip.first().waitFor({ state: 'hidden' });
  const box = await bars.boundingBox();
  for (const at of [160, 200, 300, box.width - 30]) {
    await page.mouse.move(box.x + at, box.y + 70);
    await tipSeen(bars, `hovering a bar at ${at} tells what it is`);
  }
  check(/strategy\s+Every feature map is swapped/.test(await textOf(tip, /strategy\s+Every/)), 'and what its strategy does');
  await barsSorted(page, document);
  await timelineUsed(page);
  // Plans: along the maps by keyboard.
  await page.locator('#plan svg').nth(1).waitFor();
  await page.locator('#plan svg').first().focus();
  await page.keyboard.press('ArrowRight');
  await says(page.locator('#plan .says'), /Copying the map out and in takes/, 'a map tells what it costs');
  const why = () => page.locator('#plan .says').innerText();
  for (let i = 0; i < 60 && !/Why: r =/.test(await why()); ++i) await page.keyboard.press('ArrowRight');
  check(/Why: r = [\d.]+ (<|>=) 1 \(r: time to recompute the map/.test(await why()), `a ratio says of what: ${await why()}`);
  check(await page.locator('#plan svg').count() === 2, 'two plans are above each other');
  await tablesUsed(page);
  // The switch, and paper.
  await page.locator('#theme').click();
  check(await page.evaluate(() => document.documentElement.dataset.theme) === 'dark', 'the theme switches');
  await drawn(page);
  check((await blankCharts(page)).length === 0, 'charts are drawn again in it');
  await page.emulateMedia({ media: 'print' });
  check(!(await page.locator('nav').isVisible()), 'paper has no navigation');
  check(await page.locator('.strategies').isVisible(), 'paper has the strategies');
  await says(page.locator('#timeline .on-paper'), /pooch on v100-.*, batch \d+, 60\.0 MB/, 'paper says whose timeline it is');
  await paperFits(page);
  check(seen.errors.length === 0, `errors while used: ${seen.errors.join('; ')}`);
  await context.close();
}

module.exports = { figuresInView, touched, used };
