/**
 * Knows the ManagedClusters that a status is about. A cluster that is imported again keeps its name and gets another uid: what is known of the machine before is
 * not known of it. The status holds five characters for each cluster that it names, in the order of their names. Pure.
 */
import { createHash } from 'node:crypto';
import { perObject } from '@flotilla/api';
import type { ClusterGroupUpgrade, ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { begunClusters } from '../upgrade/stage.ts';

type Status = ClusterGroupUpgradeStatus;

/** The ManagedCluster behind a name. */
interface Imported {
  /** Digest of its uid; undefined: no hub has noted it. */
  readonly digest: string | undefined;
  /** Number of imports after the first, since the upgrade names it; after 63 it begins at 1 again. */
  readonly count: number;
}

/** ManagedClusters by name. */
type Imports = ReadonlyMap<string, Imported>;

/** Finds the uid of a ManagedCluster that is there now. */
export type UidOf = (cluster: string) => string | undefined;

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const DIGEST = 4;
const ENTRY = DIGEST + 1;
/** Digest of the names, so that a status whose names somebody else has changed says nothing. */
const HEAD = 6;
const UNKNOWN = '.'.repeat(DIGEST);

const digest = (text: string, length: number): string => createHash('sha256').update(text).digest('base64url').slice(0, length);

/** Names of a status in their order, with the digest of all. */
function rollOf(status: Status): { readonly names: readonly string[]; readonly head: string } {
  const names = [...namedClusters({ status })].toSorted();
  return { names, head: digest(names.join('\n'), HEAD) };
}

/** Reads which ManagedClusters a status is about; empty where it does not say, as in one of an older hub. */
export const readImports = perObject((status: Status): Imports => {
  const { clusterUids: text = '' } = status;
  if (text === '') return new Map();
  const { names, head } = rollOf(status);
  if (!text.startsWith(head) || text.length !== HEAD + names.length * ENTRY) return new Map();
  return new Map(
    names.map((name, index) => {
      const at = HEAD + index * ENTRY;
      const known = text.slice(at, at + DIGEST);
      return [name, { digest: known === UNKNOWN ? undefined : known, count: Math.max(DIGITS.indexOf(text.charAt(at + DIGEST)), 0) }];
    }),
  );
});

/** Counts how often each cluster was imported again; without those that never were. */
export const importCounts = perObject((status: Status): ReadonlyMap<string, number> => {
  const { clusterUids: text = '' } = status;
  let isNone = true;
  for (let at = HEAD + DIGEST; at < text.length && isNone; at += ENTRY) isNone = text.charAt(at) === DIGITS[0];
  return isNone ? new Map() : new Map([...readImports(status)].flatMap(([name, { count }]) => (count > 0 ? [[name, count]] : [])));
});

/** The text for a status: what is known of its clusters, and of those that come to it what is seen now. */
export function formatImports(status: Status, known: Imports, uidOf: UidOf = () => undefined): string | undefined {
  const { names, head } = rollOf(status);
  if (names.length === 0) return undefined;
  const entries = names.map((name) => {
    const { digest: before, count = 0 } = known.get(name) ?? {};
    return `${before ?? digestOfUid(uidOf(name)) ?? UNKNOWN}${DIGITS.charAt(count)}`;
  });
  return `${head}${entries.join('')}`;
}

/** A status in whose text the names have their places, though others have come to it or left it. @param before the one that the text was written for */
export const withImportsOf = <S extends Status>(status: S, before: Status): S =>
  before.clusterUids === undefined ? status : { ...status, clusterUids: formatImports(status, readImports(before)) };

/** Finds clusters behind whose name another ManagedCluster is now, and counts them. An absent one is still the one before. */
export function findImportedAgain(imports: Imports, uidOf: UidOf): ReadonlyMap<string, Imported> {
  const again = new Map<string, Imported>();
  for (const [name, { digest: before, count }] of imports) {
    const now = digestOfUid(uidOf(name));
    if (before !== undefined && now !== undefined && now !== before)
      again.set(name, { digest: now, count: (count % (DIGITS.length - 1)) + 1 });
  }
  return again;
}

const known = new Map<string, string>();
const MOST_KNOWN = 100_000;

/** Every pass asks for the same uids. */
function digestOfUid(uid: string | undefined): string | undefined {
  if (uid === undefined) return undefined;
  const found = known.get(uid) ?? digest(uid, DIGEST);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(uid, found);
  return found;
}

/**
 * The clusters that an upgrade names in its spec and its stored status. Nothing is created for it elsewhere, so what bears its labels there is
 * somebody else's doing and holds nothing up. Each spoke of an upgrade that ends asks.
 */
export const namedClusters = perObject(
  ({ spec, status }: Pick<ClusterGroupUpgrade, 'spec' | 'status'>): ReadonlySet<string> =>
    new Set([
      ...(spec?.clusters ?? []),
      ...(status?.remediationPlan ?? []).flat(),
      ...(status ? begunClusters(status) : []),
      ...Object.keys(status?.precaching?.status ?? {}),
      ...Object.keys(status?.backup?.status ?? {}),
    ]),
);
