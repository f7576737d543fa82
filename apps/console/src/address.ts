/** Addresses of views: everything that a view shows is in its address. */
import { useLocation } from 'preact-iso';

/** The page of an upgrade. @param key namespace/name */
export const upgradePath = (key: string): string => `/upgrades/${key.split('/').map(encodeURIComponent).join('/')}`;
/** The page of the plan of an upgrade. @param key namespace/name */
export const planPath = (key: string): string => `${upgradePath(key)}/plan`;
/** Stands in an address for all of an upgrade, where the name of a spoke may stand. */
export const WHOLE = '*';
/** The page of an upgrade with the reason why it is where it is. @param key namespace/name */
export const whyPath = (key: string): string => `${upgradePath(key)}?why=${WHOLE}`;
/** The page of a spoke. */
export const spokePath = (name: string): string => `/spokes/${encodeURIComponent(name)}`;

/** The address of the present view with other filters; undefined takes one away. */
function withQuery(path: string, query: Readonly<Record<string, string>>, changes: Readonly<Record<string, string | undefined>>): string {
  const all = { ...query, ...changes };
  const kept = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '');
  return kept.length === 0 ? path : `${path}?${new URLSearchParams(kept)}`;
}

/** Filters of the present view, as its address has them. */
interface Filters {
  readonly query: Readonly<Record<string, string>>;
  /** The address with other filters, for a link. */
  readonly href: (changes: Readonly<Record<string, string | undefined>>) => string;
  /** Changes filters; going back takes the change back. @param isOneMore of changes that are taken back together, as letters that are typed */
  readonly set: (changes: Readonly<Record<string, string | undefined>>, isOneMore?: boolean) => void;
}

/** Reads and changes the filters of the present view. */
export function useFilters(): Filters {
  const { path, query, route } = useLocation();
  const href = (changes: Readonly<Record<string, string | undefined>>) => withQuery(path, query, changes);
  return { query, href, set: (changes, isOneMore = false) => route(href(changes), isOneMore) };
}
