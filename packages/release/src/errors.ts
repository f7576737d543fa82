import { TerminalError } from '@flotilla/api';

/** Codes of everything this package refuses; all are `TerminalError`: the same input fails the same way again. */
export const ReleaseErrorCode = {
  /** `release-manifests/image-references` is not an ImageStream that names images. */
  imageReferencesInvalid: 'FLOTILLA_IMAGE_REFERENCES_INVALID',
  /** A catalogue file is not JSON or YAML, breaks a limit, or a wanted object has fields of the wrong type. */
  catalogueInvalid: 'FLOTILLA_CATALOGUE_INVALID',
  packageUnknown: 'FLOTILLA_CATALOGUE_PACKAGE_UNKNOWN',
  channelUnknown: 'FLOTILLA_CATALOGUE_CHANNEL_UNKNOWN',
  /** A channel has no head (a cycle) or several. */
  channelHead: 'FLOTILLA_CATALOGUE_CHANNEL_HEAD',
  /** The head of a channel has no `olm.bundle`. */
  bundleUnknown: 'FLOTILLA_CATALOGUE_BUNDLE_UNKNOWN',
  /** A release payload lacks a file, breaks a limit, or has manifests that cannot be read. */
  payloadInvalid: 'FLOTILLA_PAYLOAD_INVALID',
  /** The keys and stores that a payload verifies later releases with cannot be used. */
  keysInvalid: 'FLOTILLA_RELEASE_KEYS_INVALID',
  /** Not every keyring has signed a release. */
  unverified: 'FLOTILLA_RELEASE_UNVERIFIED',
  patternInvalid: 'FLOTILLA_EXCLUDE_PATTERN_INVALID',
  /** An update-graph service sent something else. */
  updateGraphInvalid: 'FLOTILLA_UPDATE_GRAPH_INVALID',
} as const;
export type ReleaseErrorCode = (typeof ReleaseErrorCode)[keyof typeof ReleaseErrorCode];

/** Input of a release or a catalogue that cannot be used; the message names the input and the fix. */
export class ReleaseError extends TerminalError {
  declare readonly code: ReleaseErrorCode;
  constructor(code: ReleaseErrorCode, message: string, options?: { cause?: unknown }) {
    super(code, message, options);
  }
}

/** A value of the input as it appears in a message: quoted, on one line, at most 120 characters. */
export function quoted(value: string): string {
  const text = JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}..."` : text;
}

/** Characters of what somebody else said that a message repeats. */
const MOST_SAID = 1_024;

/**
 * Puts the words of a server or an operator into the form of a message: one line without control and invisible characters. A longer
 * text than `most` characters is cut, at a word where one ends in its second half.
 */
export function saidText(said: string, most: number = MOST_SAID): string {
  // an answer may be of megabytes: no more than what may be left is looked at
  const text = said
    .slice(0, most * 4)
    .toWellFormed()
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim();
  if (text.length <= most && said.length <= most * 4) return text;
  const cut = text.slice(0, most - 1).toWellFormed();
  const word = cut.lastIndexOf(' ');
  return `${(word > most / 2 ? cut.slice(0, word) : cut).trimEnd()}…`;
}

/** A list of names as it appears in a message: the first ten and how many more there are. */
export function namesOf(names: Iterable<string>): string {
  const all = [...names];
  if (all.length === 0) return 'none';
  const shown = all.slice(0, 10).map((name) => (name.length > 80 ? `${name.slice(0, 77)}...` : name));
  return shown.join(', ') + (all.length > shown.length ? ` and ${all.length - shown.length} more` : '');
}
