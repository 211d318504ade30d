/** Stands for what differs from run to run. */
const ANYTHING = '…';

/**
 * Where an answer differs from the one that a page shows, by path; nothing where it does not. In the shown one, the text `…` stands for
 * any text, number or object, and text that ends in it for any text that begins so.
 */
export function differences(shown: unknown, answer: unknown, path = 'answer'): string[] {
  if (shown === ANYTHING && (typeof answer === 'number' || isObject(answer))) return [];
  if (typeof shown === 'string' && shown.endsWith(ANYTHING) && typeof answer === 'string') {
    if (answer.startsWith(shown.slice(0, -ANYTHING.length))) return [];
  }
  if (Array.isArray(shown) && Array.isArray(answer)) {
    if (shown.length !== answer.length) return [`${path} has ${answer.length} entries, not ${shown.length}`];
    return shown.flatMap((each, index) => differences(each, answer[index], `${path}[${index}]`));
  }
  if (isObject(shown) && isObject(answer)) {
    const names = new Set([...Object.keys(shown), ...Object.keys(answer)]);
    return [...names].flatMap((name) => differences(shown[name], answer[name], `${path}.${name}`));
  }
  return Object.is(shown, answer) ? [] : [`${path} is ${JSON.stringify(answer)}, not ${JSON.stringify(shown)}`];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
