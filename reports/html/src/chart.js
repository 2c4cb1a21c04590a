// ECharts, the parts of it that the page uses, and what all charts have in common.
import * as echarts from 'echarts/core';
import { BarChart, CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import { AriaComponent, DataZoomComponent, GridComponent, MarkLineComponent, TooltipComponent } from 'echarts/components';
import { CanvasRenderer } from 'echarts/renderers';
import { colours } from './palette.js';

echarts.use([BarChart, CustomChart, LineChart, ScatterChart, AriaComponent, DataZoomComponent, GridComponent,
  MarkLineComponent, TooltipComponent, CanvasRenderer]);

export const FONT = getComputedStyle(document.documentElement).getPropertyValue('--sans') || 'sans-serif';
const all = new Set();

/**
 * A chart that draws itself again when the theme, its width or its data change. `option(width)` is asked each time.
 * @param {HTMLElement} element @param {(width: number) => Object} option @param {string} label for those who do not see it
 */
export function chart(element, option, label) {
  element.setAttribute('role', 'img');
  element.setAttribute('aria-label', label);
  element.dataset.chart = label;
  const instance = echarts.init(element, null, { renderer: 'canvas' });
  let width = element.clientWidth;
  const draw = () => {
    const common = base(element), own = option(element.clientWidth);
    instance.setOption({ ...common, ...own, tooltip: { ...common.tooltip, ...own.tooltip } }, { notMerge: true });
  };
  const observer = new ResizeObserver(() => {
    if (element.clientWidth === 0 || element.clientWidth === width) return;
    width = element.clientWidth;
    instance.resize();
    draw();
  });
  observer.observe(element);
  const self = {
    instance, draw,
    dispose: () => { observer.disconnect(); instance.dispose(); all.delete(self); },
  };
  all.add(self);
  draw();
  return self;
}

/**
 * What is clicked is chosen. A finger cannot hover: its first tap on something shows the tooltip, its second chooses.
 * @param {(event: Object) => boolean|void} choose of ECharts' event
 */
export function onChosen(one, choose) {
  let shown = null;
  one.instance.on('click', (event) => {
    const place = `${event.seriesIndex}/${event.dataIndex}`, finger = event.event?.event?.zrByTouch;
    if (finger && place !== shown) { shown = place; return; }
    shown = null;
    choose(event);
  });
}

/**
 * The arrow keys go along what can be pointed at and show its tooltip, Enter chooses it, Escape lets it go.
 * @param {{seriesIndex: number, dataIndex: number}[]} items @param {(item: Object) => void} onChoose
 */
export function alongByKeys(element, one, items, onChoose) {
  let at = -1;
  element.tabIndex = 0;
  element.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (step && items.length > 0) {
      at = Math.min(Math.max(0, at + step), items.length - 1);
      one.instance.dispatchAction({ type: 'showTip', ...items[at] });
    } else if (event.key === 'Enter' && at >= 0) onChoose(items[at]);
    else if (event.key === 'Escape') one.instance.dispatchAction({ type: 'hideTip' });
    else return;
    event.preventDefault();
  });
  element.addEventListener('blur', () => { at = -1; if (!one.instance.isDisposed()) one.instance.dispatchAction({ type: 'hideTip' }); });
}

export const redrawAll = () => { for (const one of all) one.draw(); };
/** To the width that their places have now. */
export const resizeAll = () => { for (const one of all) { one.instance.resize(); one.draw(); } };

function base(element) {
  const c = colours();
  return {
    animation: false,
    textStyle: { fontFamily: FONT, color: c.ink, fontSize: 12 },
    aria: { enabled: false },
    tooltip: {
      position: (point, params, tip, rect, { contentSize }) => besides(element.getBoundingClientRect(), point, contentSize),
      backgroundColor: c.paper, borderColor: c.line, padding: [8, 10], transitionDuration: 0,
      textStyle: { color: c.ink, fontFamily: FONT, fontSize: 12.5 }, extraCssText: 'box-shadow: 0 2px 12px rgba(0,0,0,.18); max-width: min(24rem, calc(100vw - 16px)); white-space: normal;',
    },
  };
}

const AWAY = 16, EDGE = 8; // pixels: from what is pointed at, from the window's edge

/** Where a tooltip lies, in the chart's coordinates: below the pointer and right of it, else on the other side; never past the window. */
function besides(chart, [x, y], [width, height]) {
  const place = (at, start, size, whole) => {
    const after = at + AWAY, before = at - AWAY - size;
    const wanted = start + after + size <= whole - EDGE ? after : before;
    return Math.max(EDGE - start, Math.min(wanted, whole - EDGE - size - start));
  };
  return [place(x, chart.left, width, document.documentElement.clientWidth), place(y, chart.top, height, window.innerHeight)];
}

export function axis(more = {}) {
  const c = colours();
  return {
    axisLine: { lineStyle: { color: c.line } }, axisTick: { show: false },
    splitLine: { lineStyle: { color: c.faint } },
    axisLabel: { color: c.soft, fontSize: 11.5, hideOverlap: true },
    nameTextStyle: { color: c.soft, fontSize: 11.5 },
    ...more,
  };
}

/** Lines of a tooltip: a title and pairs. Everything is escaped. */
export function tip(title, pairs) {
  const escape = echarts.format.encodeHTML;
  const rows = pairs.filter(Boolean).map(([name, value, mark]) =>
    `<tr><td>${mark ? `<i style="background:${mark}"></i>` : ''}${escape(String(name))}</td><td>${escape(String(value))}</td></tr>`);
  return `<div class="tip"><b>${escape(title)}</b><table>${rows.join('')}</table></div>`;
}

/** Diagonal lines on a colour: what does not run. */
export function hatch(colour) {
  const size = 8 * devicePixelRatio;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = size;
  const pen = canvas.getContext('2d');
  pen.strokeStyle = colour;
  pen.lineWidth = size / 8;
  pen.beginPath();
  for (const at of [-size, 0, size]) { pen.moveTo(at, size); pen.lineTo(at + size, 0); }
  pen.stroke();
  return { image: canvas, repeat: 'repeat' };
}

export { echarts };
