import type { UpgradeConfigSpec } from '@flotilla/api/managed';
import { describe, expect, test } from 'vitest';
import { buildSpec, buildVersion } from '../testing/upgrade-builders.ts';
import { type Validation, type ValidationInput, validate } from './validation.ts';

const DIGEST = 'a'.repeat(64);
const IMAGE = `quay.example/openshift/release@sha256:${DIGEST}`;
const judge = (desired: UpgradeConfigSpec['desired'], rest: Partial<ValidationInput> = {}): Validation =>
  validate({ spec: buildSpec({ desired }), clusterVersion: buildVersion(), asksGraph: false, answers: {}, ...rest });
const onItsWayTo = (version: string) => {
  const { spec, status } = buildVersion();
  return buildVersion(spec, {
    history: [
      { state: 'Partial', version, image: 'r/x', startedTime: '2026-01-02T00:00:00Z', completionTime: null },
      ...(status?.history ?? []),
    ],
  });
};
const said = (validation: Validation) => ('message' in validation ? `${validation.kind}: ${validation.message}` : validation.kind);

test.each<{ name: string; desired: UpgradeConfigSpec['desired']; rest?: Partial<ValidationInput>; want: string }>([
  { name: 'an available update', desired: { version: '4.14.12', channel: 'stable-4.14' }, want: 'valid: Upgrade config is valid' },
  {
    name: 'a conditional update, naming its risks',
    desired: { version: '4.14.13', channel: 'stable-4.14' },
    want: 'valid: Upgrade config is valid; risks of this conditional update are accepted: Fire',
  },
  {
    name: 'no target',
    desired: {},
    want: 'refused: cannot find the correct upgrade spec source: set spec.desired.image, or both spec.desired.version and spec.desired.channel',
  },
  {
    name: 'a version without a channel',
    desired: { version: '4.14.12' },
    want: 'refused: cannot find the correct upgrade spec source: set spec.desired.image, or both spec.desired.version and spec.desired.channel',
  },
  {
    name: 'half a version',
    desired: { version: '4.14', channel: 'stable-4.14' },
    want: 'refused: failed to parse upgrade config desired version 4.14 as semver: No Major.Minor.Patch elements found',
  },
  {
    name: 'a version with a v',
    desired: { version: 'v4.14.12', channel: 'stable-4.14' },
    want: 'refused: failed to parse upgrade config desired version v4.14.12 as semver: Invalid character(s) found in major number "v4"',
  },
  {
    name: 'an older version',
    desired: { version: '4.14.8', channel: 'stable-4.14' },
    want: 'refused: downgrades to desired version 4.14.8 from 4.14.9 are unsupported',
  },
  {
    name: 'the version it has',
    desired: { version: '4.14.9', channel: 'stable-4.14' },
    want: 'refused: desired version 4.14.9 matches the current version 4.14.9',
  },
  {
    name: 'a version that nobody offers',
    desired: { version: '4.14.20', channel: 'stable-4.14' },
    want: 'refused: version 4.14.20 not found in clusterversion available or conditional updates',
  },
  { name: 'another channel, unasked', desired: { version: '4.15.1', channel: 'stable-4.15' }, want: 'valid: Upgrade config is valid' },
  {
    name: 'another channel: asks the graph',
    desired: { version: '4.15.1', channel: 'stable-4.15' },
    rest: { asksGraph: true },
    want: 'ask-updates',
  },
  {
    name: 'a version the graph has',
    desired: { version: '4.15.1', channel: 'stable-4.15' },
    rest: { asksGraph: true, answers: { updates: ['4.15.1'] } },
    want: 'valid: Upgrade config is valid',
  },
  {
    name: 'a version the graph has not',
    desired: { version: '4.15.1', channel: 'stable-4.15' },
    rest: { asksGraph: true, answers: { updates: ['4.15.2'] } },
    want: 'refused: cannot find version 4.15.1 in available updates',
  },
  {
    name: 'a graph without updates',
    desired: { version: '4.15.1', channel: 'stable-4.15' },
    rest: { asksGraph: true, answers: { updates: [] } },
    want: 'refused: no available upgrade for the given clusterversion 4.14.9',
  },
  {
    name: 'a cluster without a completed version',
    desired: { version: '4.14.12', channel: 'stable-4.14' },
    rest: { clusterVersion: buildVersion({}, { history: [] }) },
    want: 'refused: failed to get current version',
  },
  {
    name: 'what the cluster follows already, whatever is offered',
    desired: { version: '4.14.20', channel: 'stable-4.14' },
    rest: { clusterVersion: buildVersion({ desiredUpdate: { version: '4.14.20' } }) },
    want: 'valid: Upgrade config is valid',
  },
  {
    name: 'an image by tag',
    desired: { image: 'quay.example/openshift/release:4.14' },
    want: 'refused: failed to fetch image manifest digest: quay.example/openshift/release:4.14 needs to be a valid release image: registry/namespace/name@sha256:…',
  },
  {
    name: 'an image without namespace',
    desired: { image: `quay.example/release@sha256:${DIGEST}` },
    want: expect.stringMatching(/^refused/),
  },
  { name: 'an image: asks for its version', desired: { image: IMAGE }, want: 'ask-image' },
  { name: 'an image whose version was found', desired: { image: IMAGE }, rest: { answers: { imageVersion: '4.14.12' } }, want: 'resolved' },
  {
    name: 'an image of a newer version',
    desired: { image: IMAGE, version: '4.14.12' },
    rest: { answers: { imageVersion: '4.14.12' } },
    want: 'valid: Upgrade config is valid',
  },
  {
    name: 'an image of an older version',
    desired: { image: IMAGE, version: '4.14.8' },
    rest: { answers: { imageVersion: '4.14.8' } },
    want: 'refused: downgrades to desired version 4.14.8 from 4.14.9 are unsupported',
  },
  {
    name: 'a version before the one that is being applied',
    desired: { version: '4.14.12', channel: 'stable-4.14' },
    rest: { clusterVersion: onItsWayTo('4.14.13') },
    want: 'refused: downgrades to desired version 4.14.12 from 4.14.13, which is being applied, are unsupported',
  },
  {
    name: 'an image of a version before the one that is being applied',
    desired: { image: IMAGE, version: '4.14.12' },
    rest: { clusterVersion: onItsWayTo('4.14.13'), answers: { imageVersion: '4.14.12' } },
    want: 'refused: downgrades to desired version 4.14.12 from 4.14.13, which is being applied, are unsupported',
  },
  {
    name: 'a version after the one that is being applied',
    desired: { version: '4.14.12', channel: 'stable-4.14' },
    rest: { clusterVersion: onItsWayTo('4.14.11') },
    want: 'valid: Upgrade config is valid',
  },
  {
    name: 'an image that the cluster is on its way to',
    desired: { image: IMAGE, version: '4.14.12' },
    rest: { clusterVersion: buildVersion({ desiredUpdate: { image: IMAGE } }, { desired: { version: '4.14.12', image: IMAGE } }) },
    want: 'valid: Upgrade config is valid',
  },
  {
    name: 'another version than that of the image that the cluster is on its way to',
    desired: { image: IMAGE, version: '4.14.13' },
    rest: { clusterVersion: buildVersion({ desiredUpdate: { image: IMAGE } }, { desired: { version: '4.14.12', image: IMAGE } }) },
    want: 'resolved',
  },
  {
    name: 'an image that the cluster was sent to and has not told of',
    desired: { image: IMAGE, version: '4.14.12' },
    rest: { clusterVersion: buildVersion({ desiredUpdate: { image: IMAGE } }) },
    want: 'ask-image',
  },
  {
    name: 'an image with a label that is no version',
    desired: { image: IMAGE },
    rest: { answers: { imageVersion: 'latest' } },
    want: 'refused: failed to parse release image version latest as semver: No Major.Minor.Patch elements found',
  },
])('$name', ({ desired, rest, want }) => expect(said(judge(desired, rest))).toEqual(want));

describe('upgradeAt', () => {
  test.each(['', 'soon', '2026-02-01 10:00', '2026-02-30T10:00:00Z'])('is refused when it is %j', (upgradeAt) => {
    const verdict = validate({ spec: buildSpec({ upgradeAt }), clusterVersion: buildVersion(), asksGraph: false, answers: {} });
    expect(said(verdict)).toMatch(`refused: Failed to parse upgradeAt:${upgradeAt} during validation: spec.upgradeAt must be`);
  });
});
