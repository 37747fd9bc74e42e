// Showing the passes one after the other.

const EACH_MS = 1300;

/**
 * The next pass that has something to show, null after the last.
 * @param {any[]} passes
 * @param {any} shown
 */
export function following(passes, shown) {
  const later = passes.slice(passes.indexOf(shown) + 1);
  return later.find((p) => p.status === "changed" || p.status === "failed") ?? null;
}

/**
 * @param {{passes: () => any[], shown: () => any, show: (pass: any) => void, changed: () => void}} actions
 *   `changed` is called when playing begins or ends
 */
export function makePlayer({ passes, shown, show, changed }) {
  /** @type {ReturnType<typeof setInterval>|null} */
  let timer = null;
  const stop = () => {
    if (timer === null) return;
    clearInterval(timer);
    timer = null;
    changed();
  };
  const step = () => {
    const next = following(passes(), shown());
    if (next) show(next);
    else stop();
  };
  const toggle = () => {
    if (timer !== null) return stop();
    timer = setInterval(step, EACH_MS);
    show(following(passes(), shown()) ?? passes()[0]);
    changed();
  };
  return { toggle, stop, playing: () => timer !== null };
}
