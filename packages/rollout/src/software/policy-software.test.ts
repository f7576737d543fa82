import { expect, test } from 'vitest';
import { clusterVersion } from '../../testing/policy-builders.ts';
import { findPlatformImage, type PlatformImageOptions, type PlatformImageSource } from './policy-software.ts';

const graph = { upstream: 'https://graph.example.com/api', channel: 'stable-4.20' };
const full = { ...graph, desiredUpdate: { version: '4.20.1' } };
const wanting = (definition: Readonly<Record<string, unknown>>, options: { raw?: boolean; mustNotHave?: boolean } = {}) => ({
  objects: [{ definition, raw: false, mustNotHave: false, ...options }],
});
const incomplete = 'policy with ClusterVersion must have upstream, channel, and version when image is not provided';
const invalid = (message: string): PlatformImageSource => ({ kind: 'invalid', message });
const conflict = (field: string) => invalid(`platform image defined more then once with conflicting ${field} values`);

test.each<{ name: string; policies: ReturnType<typeof wanting>[]; options?: Partial<PlatformImageOptions>; want: PlatformImageSource }>([
  { name: 'is none without a ClusterVersion', policies: [], want: { kind: 'none' } },
  {
    name: 'is none when the ClusterVersion of another group is meant',
    policies: [wanting({ ...clusterVersion(full), apiVersion: 'other.io/v1' })],
    want: { kind: 'none' },
  },
  {
    name: 'is none when the ClusterVersion is to be gone',
    policies: [wanting(clusterVersion(full), { mustNotHave: true })],
    want: { kind: 'none' },
  },
  {
    name: 'is none when a ClusterVersion only waits for a status',
    policies: [wanting({ ...clusterVersion({}), spec: undefined, status: {} })],
    want: { kind: 'none' },
  },
  {
    name: 'is the image that is named',
    policies: [wanting(clusterVersion({ ...graph, desiredUpdate: { image: 'q/r@sha256:1' } }))],
    want: { kind: 'image', image: 'q/r@sha256:1' },
  },
  {
    name: 'is on a graph when upstream, channel and version are named',
    policies: [wanting(clusterVersion(full))],
    want: { kind: 'graph', ...graph, version: '4.20.1' },
  },
  {
    name: 'is on a graph when several policies name the parts, some twice',
    policies: [wanting(clusterVersion(graph)), wanting(clusterVersion({ channel: 'stable-4.20', desiredUpdate: { version: '4.20.1' } }))],
    want: { kind: 'graph', ...graph, version: '4.20.1' },
  },
  {
    name: 'is on the configured graph, which also stands in for an absent upstream',
    policies: [wanting(clusterVersion({ ...full, upstream: undefined }))],
    options: { updateGraphUrl: 'http://mirror/graph' },
    want: { kind: 'graph', upstream: 'http://mirror/graph', channel: 'stable-4.20', version: '4.20.1' },
  },
  { name: 'is invalid without an upstream', policies: [wanting(clusterVersion({ ...full, upstream: '' }))], want: invalid(incomplete) },
  { name: 'is invalid without a version', policies: [wanting(clusterVersion(graph))], want: invalid(incomplete) },
  {
    name: 'is invalid with two upstreams',
    policies: [wanting(clusterVersion(full)), wanting(clusterVersion({ upstream: 'http://x' }))],
    want: conflict('upstream'),
  },
  {
    name: 'is invalid with two channels',
    policies: [wanting(clusterVersion(full)), wanting(clusterVersion({ channel: 'fast' }))],
    want: conflict('channel'),
  },
  {
    name: 'is invalid with two versions',
    policies: [wanting(clusterVersion(full)), wanting(clusterVersion({ desiredUpdate: { version: '4' } }))],
    want: conflict('version'),
  },
  {
    name: 'is invalid with two images',
    policies: [wanting(clusterVersion({ desiredUpdate: { image: 'a' } })), wanting(clusterVersion({ desiredUpdate: { image: 'b' } }))],
    want: conflict('image'),
  },
  {
    name: 'is invalid when a raw template leaves a placeholder in it',
    policies: [wanting(clusterVersion({ ...full, channel: 'stable-placeholder' }), { raw: true })],
    want: invalid('templating cluster version fields not supported'),
  },
  {
    name: 'may have the word placeholder in a plain upstream',
    policies: [wanting(clusterVersion({ ...full, upstream: 'https://placeholder.example.com' }))],
    want: { kind: 'graph', ...graph, upstream: 'https://placeholder.example.com', version: '4.20.1' },
  },
  {
    name: 'is invalid with a version that is a number',
    policies: [wanting(clusterVersion({ ...graph, desiredUpdate: { version: 4.2 } }))],
    want: invalid('ClusterVersion field version is not a text; quote its value'),
  },
  {
    name: 'is a template when a spoke resolves the version',
    policies: [wanting(clusterVersion({ ...graph, desiredUpdate: { version: '{{ x }}' } }))],
    want: { kind: 'template' },
  },
  {
    name: 'is invalid when a spoke resolves the version and images are wanted now',
    policies: [wanting(clusterVersion({ ...graph, desiredUpdate: { version: '{{ x }}' } }))],
    options: { preCaching: true },
    want: invalid('templatized ClusterVersion fields not supported with precaching'),
  },
  { name: 'survives a spec of the wrong type', policies: [wanting({ ...clusterVersion({}), spec: ['x'] })], want: { kind: 'none' } },
])('the platform image $name', ({ policies, options, want }) => {
  expect(findPlatformImage(policies, { preCaching: false, ...options })).toEqual(want);
});
