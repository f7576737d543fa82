import { isJsonObject } from '@flotilla/api';
import type { Release } from '@flotilla/api/config';
import { quoted } from '../errors.ts';
import { decodeUtf8 } from '../json-objects.ts';
import { type Json, objectAt } from '../json-values.ts';
import { parseVersion } from '../semantic-version.ts';

type Details = Pick<Release, 'url' | 'architecture' | 'channels'>;

/** Content of `release-metadata`. */
export interface ReleaseMetadata {
  readonly release: Details & Pick<Release, 'version'>;
  /** Reasons why parts of the metadata could not be used; they become warnings and harm nothing. */
  readonly problems: readonly string[];
}

const ARCHITECTURE = 'release.openshift.io/architecture';
/** Characters of a URL, and of a channel; a ClusterVersion has to hold them. */
const MOST_TEXT = 2_048;
const MOST_CHANNELS = 500;
const CHANNELS = 'io.openshift.upgrades.graph.release.channels';

/**
 * Parses `release-metadata`.
 * @throws Error naming the field
 */
export function parseReleaseMetadata(content: Uint8Array): ReleaseMetadata {
  const document = parseJson(content);
  if (!isJsonObject(document)) throw new Error('is no JSON object');
  const { kind, version, metadata } = document;
  if (kind !== 'cincinnati-metadata-v0')
    throw new Error(`unrecognized Cincinnati metadata kind ${quoted(typeof kind === 'string' ? kind : '')}`);
  if (typeof version !== 'string' || version === '') throw new Error('missing required Cincinnati metadata version');
  if (!parseVersion(version))
    throw new Error(`invalid Cincinnati metadata version ${quoted(version)}: it must be three numbers such as 4.20.1`);
  const problems: string[] = [];
  return { release: { version, ...parseReleaseDetails(objectAt(metadata), problems) }, problems };
}

function parseJson(content: Uint8Array): unknown {
  try {
    return JSON.parse(decodeUtf8(content));
  } catch (cause) {
    throw new Error('is not JSON', { cause });
  }
}

/** Reads the metadata of a release, from its payload or from the update graph; what cannot be used becomes a problem. */
export function parseReleaseDetails(metadata: Json, problems: string[] = []): Details {
  const url = readUrl(metadata.url, problems);
  const architecture = readArchitecture(metadata[ARCHITECTURE], problems);
  const channels = readChannels(metadata[CHANNELS], problems);
  return { ...(url && { url }), ...(architecture && { architecture }), ...(channels.length > 0 && { channels }) };
}

function readUrl(url: unknown, problems: string[]): string | undefined {
  if (url === undefined) return undefined;
  if (typeof url === 'string' && url.length <= MOST_TEXT && URL.canParse(url, 'https://release.invalid')) return url;
  problems.push(`metadata.url must be a URL of at most ${MOST_TEXT} characters`);
  return undefined;
}

function readArchitecture(architecture: unknown, problems: string[]): 'Multi' | undefined {
  if (architecture === undefined) return undefined;
  if (architecture === 'multi') return 'Multi';
  problems.push(`metadata[${quoted(ARCHITECTURE)}] must be "multi" or missing`);
  return undefined;
}

function readChannels(channels: unknown, problems: string[]): string[] {
  if (channels === undefined) return [];
  if (typeof channels !== 'string' || channels === '') {
    problems.push(`metadata[${quoted(CHANNELS)}] must be a text of channels with commas between them`);
    return [];
  }
  const names = channels.split(',');
  const empty = names.filter((name) => name === '').length;
  if (empty > 0) problems.push(`metadata[${quoted(CHANNELS)}] has ${empty} empty ${empty === 1 ? 'entry' : 'entries'}`);
  const usable = [...new Set(names.filter((name) => name !== '' && name.length <= MOST_TEXT))].sort().slice(0, MOST_CHANNELS);
  if (usable.length < new Set(names).size - (empty > 0 ? 1 : 0))
    problems.push(`metadata[${quoted(CHANNELS)}] has more than ${MOST_CHANNELS} channels, or one of more than ${MOST_TEXT} characters`);
  return usable;
}
