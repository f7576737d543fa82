import { expect, test } from 'vitest';
import { clusterVersion, entry } from '../../testing/cluster-version-builders.ts';
import { validateClusterVersion, withoutInvalid } from './validation.ts';

const none = { featureGates: new Set<string>() };
const takesRisks = { featureGates: new Set(['ClusterUpdateAcceptRisks']) };
const messages = (spec: object, status: object = {}, context = none) =>
  validateClusterVersion(clusterVersion({ spec, status }), context).map(({ message }) => message);
const available = [
  { version: '4.20.2', image: 'r@sha256:2' },
  { version: '4.20.3', image: 'r@sha256:3' },
  { version: '4.20.3', image: 'r@sha256:3b' },
  { version: '4.20.4', image: '' },
];

test.each<{ name: string; spec: object; want: string[]; context?: typeof none }>([
  { name: 'nothing asked for', spec: {}, want: [] },
  { name: 'no cluster id and no upstream', spec: { clusterID: '', upstream: '' }, want: [] },
  { name: 'an upstream', spec: { upstream: 'https://graph.example/v1?x=y' }, want: [] },
  {
    name: 'an upstream that is no URL',
    spec: { upstream: 'graph example' },
    want: ['spec.upstream: Invalid value: "graph example": must be a valid URL or empty'],
  },
  {
    name: 'a cluster id that is no UUID',
    spec: { clusterID: 'abc' },
    want: ['spec.clusterID: Invalid value: "abc": must be an RFC4122-variant UUID'],
  },
  {
    name: 'a UUID of another variant',
    spec: { clusterID: '0b9a2a1e-7e4b-4d3c-cf6e-0123456789ab' },
    want: ['spec.clusterID: Invalid value: "0b9a2a1e-7e4b-4d3c-cf6e-0123456789ab": must be an RFC4122-variant UUID'],
  },
  {
    name: 'a UUID of another version',
    spec: { clusterID: '0b9a2a1e-7e4b-1d3c-9f6e-0123456789ab' },
    want: ['spec.clusterID: Invalid value: "0b9a2a1e-7e4b-1d3c-9f6e-0123456789ab": must be a version-4 UUID'],
  },
  { name: 'an image', spec: { desiredUpdate: { image: 'r@sha256:9' } }, want: [] },
  { name: 'a version with an image', spec: { desiredUpdate: { version: '4.99.0', image: 'r@sha256:9' } }, want: [] },
  { name: 'an available version', spec: { desiredUpdate: { version: '4.20.2' } }, want: [] },
  { name: 'a version of the history', spec: { desiredUpdate: { version: '4.19.9' } }, want: [] },
  {
    name: 'a version that is none',
    spec: { desiredUpdate: { version: '4.20', image: 'i' } },
    want: ['spec.desiredUpdate.version: Invalid value: "4.20": must be a semantic version (1.2.3[-...])'],
  },
  {
    name: 'a version that nobody offers',
    spec: { desiredUpdate: { version: '4.20.9' } },
    want: ['spec.desiredUpdate.version: Invalid value: "4.20.9": when image is empty the update must be an available update'],
  },
  {
    name: 'a version offered without an image',
    spec: { desiredUpdate: { version: '4.20.4' } },
    want: ['spec.desiredUpdate.version: Invalid value: "4.20.4": when image is empty the update must be an available update'],
  },
  {
    name: 'a version of two images',
    spec: { desiredUpdate: { version: '4.20.3' } },
    want: [
      'spec.desiredUpdate.version: Invalid value: "4.20.3": there are multiple possible payloads for this version, specify the exact image',
    ],
  },
  {
    name: 'an update to nothing',
    spec: { desiredUpdate: { force: true } },
    want: ['spec.desiredUpdate: Required value: must specify architecture, version, or image'],
  },
  {
    name: 'an update to nothing where risks may be accepted',
    spec: { desiredUpdate: {} },
    context: takesRisks,
    want: ['spec.desiredUpdate: Required value: must specify architecture, version, image, or acceptRisks'],
  },
  {
    name: 'accepted risks where none may be',
    spec: { desiredUpdate: { image: 'i', acceptRisks: [{ name: 'A' }] } },
    want: ['spec.desiredUpdate.acceptRisks: Forbidden: acceptRisks must not be specified'],
  },
  { name: 'accepted risks', spec: { desiredUpdate: { acceptRisks: [{ name: 'A' }] } }, context: takesRisks, want: [] },
  {
    name: 'several fields at once',
    spec: { upstream: 'x', clusterID: 'abc', desiredUpdate: { version: 'x' } },
    want: [
      'spec.upstream: Invalid value: "x": must be a valid URL or empty',
      'spec.clusterID: Invalid value: "abc": must be an RFC4122-variant UUID',
      'spec.desiredUpdate.version: Invalid value: "x": must be a semantic version (1.2.3[-...])',
    ],
  },
])('$name', ({ spec, want, context = none }) =>
  expect(messages(spec, { availableUpdates: available, history: [entry('4.19.9', 'Completed')] }, context)).toEqual(want),
);

test('the values that are wrong are put aside, the others count', () => {
  const spec = { upstream: 'x', clusterID: 'abc', channel: 'fast', desiredUpdate: { version: 'x' } };
  const object = clusterVersion({ spec });
  const left = withoutInvalid(object, validateClusterVersion(object, none)).spec;
  expect(left).toEqual({ clusterID: '', channel: 'fast' });
  expect(object.spec).toMatchObject(spec);
});

test('an update to nothing stays where it is: it asks for nothing', () => {
  const object = clusterVersion({ spec: { desiredUpdate: { force: true } } });
  expect(withoutInvalid(object, validateClusterVersion(object, none)).spec.desiredUpdate).toEqual({ force: true });
});
