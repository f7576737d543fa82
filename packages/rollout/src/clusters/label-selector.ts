import type { LabelSelector } from '@flotilla/api';
import { cutAtWord } from '@flotilla/api/ran';
import { quote } from '../values/formats.ts';

/** Labels of an object. */
type Labels = Readonly<Record<string, string>>;
/** True for the labels of a cluster that is meant. */
export type Matcher = (labels: Labels) => boolean;

/** The selector as a test of labels, or what is wrong with it. @param path of the selector, for the message */
export function compileSelector(selector: LabelSelector, path: string): { readonly matches: Matcher } | { readonly problem: string } {
  const matchers: Matcher[] = Object.entries(selector.matchLabels ?? {}).map(
    ([key, value]) =>
      (labels) =>
        label(labels, key) === value,
  );
  for (const [index, { key, operator, values = [] }] of (selector.matchExpressions ?? []).entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    const build = Object.hasOwn(operators, operator) ? operators[operator] : undefined;
    if (!build) return { problem: `${at}.operator ${quote(operator)} is not known; use In, NotIn, Exists or DoesNotExist` };
    const wantsValues = operator === 'In' || operator === 'NotIn';
    if (wantsValues && values.length === 0) return { problem: `${at}.values is empty; give operator ${operator} at least one value` };
    if (!wantsValues && values.length > 0)
      return { problem: `${at}.values has ${quote(values[0] ?? '')}; operator ${operator} takes no values, remove them` };
    matchers.push(build(key, new Set(values)));
  }
  return { matches: (labels) => matchers.every((matches) => matches(labels)) };
}

/** metav1 semantics: NotIn also holds for a cluster without the label. */
const operators: Readonly<Record<string, (key: string, values: ReadonlySet<string>) => Matcher>> = {
  In: (key, values) => (labels) => values.has(label(labels, key) ?? '') && label(labels, key) !== undefined,
  NotIn: (key, values) => (labels) => {
    const value = label(labels, key);
    return value === undefined || !values.has(value);
  },
  Exists: (key) => (labels) => label(labels, key) !== undefined,
  DoesNotExist: (key) => (labels) => label(labels, key) === undefined,
};

/** A selector as `kubectl get -l` takes it, bounded: `fleet=edge,tier in (a,b)`. */
export function describeSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const parts = [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) => {
      if (operator === 'Exists') return key;
      return operator === 'DoesNotExist' ? `!${key}` : `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(',')})`;
    }),
  ];
  return parts.length === 0 ? 'the empty selector' : cutAtWord(parts.join(','));
}

/** Own labels only, so that a selector on `constructor` or `toString` does not match what every object inherits. */
export const label = (labels: Labels, key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);
