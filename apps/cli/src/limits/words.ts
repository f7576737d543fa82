import type { LimitUse, RateUse } from '@flotilla/api/answers';

/** The clusters of a limit in words. */
export function clustersInWords({ label, value }: Pick<LimitUse, 'label' | 'value'>): string {
  if (label === undefined) return 'all';
  return value === '' ? `without ${label}` : `${label}=${value}`;
}

const DOES = { pulling: 'pre-cache', upgrading: 'be upgraded' } as const;

/** The activity of a limit in words. */
export const doesInWords = (use: LimitUse | RateUse): string => ('activity' in use ? DOES[use.activity] : 'pull a second');
