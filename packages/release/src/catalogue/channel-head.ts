import { cmp, type Operator } from 'semver';
import { z } from 'zod';
import { namesOf, quoted, ReleaseError, ReleaseErrorCode } from '../errors.ts';
import { parseVersion, type Version } from '../semantic-version.ts';
import { catalogueLimits, catalogueName } from './documents.ts';

/** One entry of an `olm.channel`. */
const Entry = z.object({
  name: catalogueName,
  replaces: z.string().max(512).optional(),
  skips: z.array(z.string().max(512)).max(catalogueLimits.entriesPerChannel).optional(),
  skipRange: z.string().optional(),
});
type ChannelEntry = z.output<typeof Entry>;

/** A channel of a package. */
export const Channel = z.object({
  package: catalogueName,
  name: catalogueName,
  entries: z.array(Entry).max(catalogueLimits.entriesPerChannel),
});
export type Channel = z.output<typeof Channel>;

/**
 * The head of a channel as opm means it: the one entry that no other entry replaces or skips. Where that leaves several, an
 * entry whose version lies in the `skipRange` of another of them is no head either.
 * @param versionOf version of a bundle by its name, when known
 * @throws ReleaseError `FLOTILLA_CATALOGUE_CHANNEL_HEAD` naming package, channel and the heads
 */
export function headOfChannel(channel: Channel, versionOf: (bundle: string) => string | undefined): ChannelEntry {
  const refuse = (why: string): ReleaseError =>
    new ReleaseError(
      ReleaseErrorCode.channelHead,
      `channel ${quoted(channel.name)} of package ${quoted(channel.package)} ${why}; use another channel or a corrected index`,
    );
  if (channel.entries.length === 0) throw refuse('has no entries');
  const passed = new Set(channel.entries.flatMap(({ replaces, skips }) => [...(replaces ? [replaces] : []), ...(skips ?? [])]));
  const heads = channel.entries.filter(({ name }) => !passed.has(name));
  if (heads.length === 0) throw refuse(`has no head: its entries replace each other in a cycle (${namesOf(cycleIn(channel.entries))})`);
  const left = heads.length === 1 ? heads : withoutSkipped(heads, versionOf);
  const [head, another] = left.length === 0 ? heads : left;
  if (!head || another) throw refuse(`has several heads: ${namesOf((left.length === 0 ? heads : left).map(({ name }) => name))}`);
  return head;
}

function withoutSkipped(heads: readonly ChannelEntry[], versionOf: (bundle: string) => string | undefined): ChannelEntry[] {
  const versions = new Map<string, Version>();
  for (const { name } of heads) {
    const version = parseVersion(versionOf(name) ?? '');
    if (version) versions.set(name, version);
  }
  return heads.filter(({ name }) => {
    const version = versions.get(name);
    return !version || !heads.some((other) => other.name !== name && other.skipRange && isInRange(version, other.skipRange));
  });
}

/** Names along a cycle of `replaces`, or every name when `skips` close it. */
function cycleIn(entries: readonly ChannelEntry[]): string[] {
  const replaces = new Map(entries.map((entry) => [entry.name, entry.replaces]));
  const seen = new Set<string>();
  let at: string | undefined = entries[0]?.name;
  while (at !== undefined && replaces.has(at) && !seen.has(at)) {
    seen.add(at);
    at = replaces.get(at);
  }
  if (at === undefined || !seen.has(at)) return entries.map(({ name }) => name);
  return [...[...seen].slice([...seen].indexOf(at)), at];
}

/**
 * True for a version in a range as `skipRange` writes it: comparisons joined by blanks (all must hold), alternatives
 * joined by `||`. An unreadable comparison holds for no version; those of npm's ranges (`~`, `^`, a missing number) are unreadable, as for OLM.
 */
export function isInRange(version: Version, range: string): boolean {
  if (range.length > 1_024) return false;
  return range.split('||').some((alternative) => {
    // blanks after an operator belong to it: `>= 1.0.0`
    const comparisons = alternative
      .replaceAll(/(?<![<>=!])([<>=!]+)\s+/g, '$1')
      .trim()
      .split(/\s+/);
    return comparisons[0] !== '' && comparisons.every((comparison) => isHeld(version, comparison));
  });
}

function isHeld(version: Version, comparison: string): boolean {
  const [, operator = '', text = ''] = /^(>=|<=|==|!=|>|<|=|!|)(.+)$/.exec(comparison) ?? [];
  const other = parseVersion(text);
  return other !== undefined && cmp(version, (operator === '!' ? '!=' : operator) as Operator, other);
}
