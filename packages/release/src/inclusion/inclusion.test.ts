import { describe, expect, test } from 'vitest';
import { payloadManifest, payloadObject } from '../../testing/payload-fixture.ts';
import { INCLUDED } from '../../testing/release-builders.ts';
import { exclusionOf, type InclusionFilter } from './inclusion.ts';

const PROFILE = 'self-managed-high-availability';
const caps = (...enabled: string[]) => ({ known: new Set(['A', 'B', 'C']), enabled: new Set(enabled) });
const crd = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
const override = { group: 'apps', kind: 'Deployment', namespace: 'ns', name: 'x', unmanaged: true };

interface Case {
  readonly name: string;
  readonly annotations?: object | null;
  readonly object?: { apiVersion?: string; kind?: string; namespace?: string };
  readonly filter: InclusionFilter;
  /** Nothing when it is applied. */
  readonly want?: string;
}

const set = 'release.openshift.io/feature-set';
const gate = 'release.openshift.io/feature-gate';
const major = 'release.openshift.io/major-version';
const capability = 'capability.openshift.io/name';
const gates = (...names: string[]) => ({ featureGates: new Set(names) });

const cases: Case[] = [
  { name: 'no annotations', annotations: null, filter: {}, want: 'annotations: no annotations' },
  { name: 'an annotation that is no text', annotations: { ...INCLUDED, a: 1 }, filter: {}, want: 'annotations: no annotations' },
  { name: 'no filter', annotations: {}, filter: {} },
  {
    name: 'the identifier to exclude',
    annotations: { 'exclude.release.openshift.io/x': 'true' },
    filter: { excludeIdentifier: 'x' },
    want: 'exclude: exclude.release.openshift.io/x=true',
  },
  {
    name: 'another value for the identifier to exclude',
    annotations: { 'exclude.release.openshift.io/x': 'yes' },
    filter: { excludeIdentifier: 'x' },
  },
  {
    name: 'set and gate',
    annotations: { [set]: 'Default', [gate]: 'G' },
    filter: { featureSet: '', ...gates('G') },
    want: `feature-set-and-gate: both feature set and feature gate annotations are present: ${set}=Default, ${gate}=G`,
  },
  { name: 'set and gate, where only sets filter', annotations: { [set]: 'Default', [gate]: 'G' }, filter: { featureSet: '' } },
  { name: 'the empty feature set', annotations: { [set]: 'Default,OKD' }, filter: { featureSet: '' } },
  {
    name: 'another feature set',
    annotations: { [set]: 'OKD,Default' },
    filter: { featureSet: 'TechPreviewNoUpgrade' },
    want: `feature-set: "TechPreviewNoUpgrade" is required, and ${set}=Default,OKD`,
  },
  {
    name: 'an unknown feature set',
    annotations: { [set]: 'Default,New' },
    filter: { featureSet: '' },
    want: `feature-set: unrecognized value "New" in ${set}=Default,New; known values are: CustomNoUpgrade,Default,DevPreviewNoUpgrade,OKD,TechPreviewNoUpgrade`,
  },
  {
    name: 'a feature set behind a blank',
    annotations: { [set]: 'OKD, Default' },
    filter: { featureSet: '' },
    want: `feature-set: unrecognized value " Default" in ${set}=OKD, Default; known values are: CustomNoUpgrade,Default,DevPreviewNoUpgrade,OKD,TechPreviewNoUpgrade`,
  },
  { name: 'all gates as wanted', annotations: { [gate]: 'G, -H' }, filter: gates('G') },
  {
    name: 'a gate that is off',
    annotations: { [gate]: 'G,H' },
    filter: gates('G'),
    want: 'feature-gate: feature gate H is required but not enabled',
  },
  {
    name: 'a gate that is on',
    annotations: { [gate]: '-G' },
    filter: gates('G'),
    want: 'feature-gate: feature gate G is enabled but manifest requires it to be disabled',
  },
  { name: 'the major version', object: crd, annotations: { [major]: '4, 5' }, filter: { majorVersion: 4 } },
  {
    name: 'a major version that is not listed',
    object: crd,
    annotations: { [major]: '5' },
    filter: { majorVersion: 4 },
    want: `major-version: major version 4 is not included in ${major}=5`,
  },
  {
    name: 'a major version that is excluded',
    object: crd,
    annotations: { [major]: '-4' },
    filter: { majorVersion: 4 },
    want: `major-version: major version 4 is excluded by ${major}=-4`,
  },
  { name: 'another major version is excluded', object: crd, annotations: { [major]: '-5' }, filter: { majorVersion: 4 } },
  {
    name: 'a major version in and out',
    object: crd,
    annotations: { [major]: '4,-4' },
    filter: { majorVersion: 4 },
    want: `major-version: major version 4 is both included and excluded in ${major}=4,-4`,
  },
  {
    name: 'a major version that is no number',
    object: crd,
    annotations: { [major]: '4.1' },
    filter: { majorVersion: 4 },
    want: `major-version: invalid major version "4.1" in ${major}=4.1`,
  },
  {
    name: 'a major version on another kind',
    annotations: { [major]: '4' },
    filter: { majorVersion: 4 },
    want: `major-version: ${major} is only allowed on FeatureGate and CustomResourceDefinition, not on Deployment`,
  },
  { name: 'the profile', annotations: INCLUDED, filter: { profile: PROFILE } },
  {
    name: 'another profile',
    annotations: INCLUDED,
    filter: { profile: 'single' },
    want: 'profile: include.release.openshift.io/single unset',
  },
  {
    name: 'another value for the profile',
    annotations: { 'include.release.openshift.io/p': 'True' },
    filter: { profile: 'p' },
    want: 'profile: unrecognized value include.release.openshift.io/p=True',
  },
  { name: 'no capability', annotations: { [capability]: '' }, filter: { capabilities: caps() } },
  { name: 'enabled capabilities', annotations: { [capability]: 'A+B' }, filter: { capabilities: caps('A', 'B') } },
  {
    name: 'a disabled capability',
    annotations: { [capability]: 'A+B+C' },
    filter: { capabilities: caps('A') },
    want: 'capability: disabled capabilities: B, C',
  },
  {
    name: 'an unknown capability',
    annotations: { [capability]: 'A+X+Y' },
    filter: { capabilities: caps() },
    want: 'capability: unrecognized capability names: X, Y',
  },
  {
    name: 'an unknown capability of a newer payload',
    annotations: { [capability]: 'A+X' },
    filter: { capabilities: { ...caps('A', 'X'), allowUnknown: true } },
  },
  { name: 'an object that somebody else manages', annotations: {}, filter: { overrides: [override] }, want: 'override: overridden' },
  { name: 'an override that is none', annotations: {}, filter: { overrides: [{ ...override, unmanaged: false }] } },
  { name: 'an override in another namespace', annotations: {}, filter: { overrides: [{ ...override, namespace: 'other' }] } },
  {
    name: 'an override of a cluster-scoped object with a namespace',
    object: { namespace: '' },
    annotations: {},
    filter: { overrides: [override] },
    want: 'override: overridden',
  },
  {
    name: 'the profile, though a capability refuses too',
    annotations: { [capability]: 'X' },
    filter: { capabilities: caps(), profile: 'p' },
    want: 'profile: include.release.openshift.io/p unset',
  },
];

describe('decides by', () => {
  test.each(cases)('$name', ({ annotations = {}, object = {}, filter, want }) => {
    const { apiVersion = 'apps/v1', kind = 'Deployment', namespace = 'ns' } = object;
    const body = payloadObject(kind, 'x', { apiVersion, namespace, annotations: annotations ?? undefined });
    if (annotations === null) Object.assign(body, { metadata: { name: 'x' } });
    const found = exclusionOf(payloadManifest('release-manifests/a.yaml', body), filter);
    expect(found && `${found.rule}: ${found.message}`).toBe(want);
  });
});
