import { expect, test } from 'vitest';
import { clusterVersion, entry } from '../../testing/cluster-version-builders.ts';
import { resolveDesiredUpdate } from './validation.ts';

const availableUpdates = [
  { version: '4.20.3', image: '' },
  { version: '4.20.2', image: 'r@sha256:2' },
  { version: '4.20.1', image: 'r@sha256:1-multi' },
];

test.each<{ name: string; desiredUpdate?: object; running?: { architecture?: string }; want: object | undefined }>([
  { name: 'nothing', want: undefined },
  {
    name: 'an image as it is',
    desiredUpdate: { image: 'i:tag', version: '9.9.9', force: true },
    want: { version: '9.9.9', image: 'i:tag', force: true },
  },
  { name: 'an image alone', desiredUpdate: { image: 'i' }, want: { version: '', image: 'i', force: false } },
  { name: 'an available version', desiredUpdate: { version: '4.20.2' }, want: { version: '4.20.2', image: 'r@sha256:2', force: false } },
  { name: 'a version offered without an image', desiredUpdate: { version: '4.20.3' }, want: undefined },
  { name: 'a version that only the history has', desiredUpdate: { version: '4.19.9' }, want: undefined },
  {
    name: 'an update of a release of several architectures',
    desiredUpdate: { architecture: 'Multi', version: '4.20.2' },
    running: { architecture: 'Multi' },
    want: { version: '4.20.2', image: 'r@sha256:2', force: false },
  },
  {
    name: 'the release the cluster is at, which no graph offers',
    desiredUpdate: { version: '4.20.7' },
    want: { version: '4.20.7', image: 'r@sha256:7', force: false },
  },
  {
    name: 'several architectures that nobody offers',
    desiredUpdate: { architecture: 'Multi', version: '4.20.7' },
    want: undefined,
  },
  { name: 'an update to nothing', desiredUpdate: { force: true }, want: undefined },
])('asks for $name', ({ desiredUpdate, running, want }) => {
  const object = clusterVersion({
    spec: { desiredUpdate },
    status: { availableUpdates, desired: { version: '4.20.7', image: 'r@sha256:7' }, history: [entry('4.19.9', 'Completed')] },
  });
  expect(resolveDesiredUpdate(object, running)).toEqual(want);
});

test('several architectures are asked for of the running version, whatever version stands there', () => {
  const object = clusterVersion({ spec: { desiredUpdate: { architecture: 'Multi', version: '4.20.2' } }, status: { availableUpdates } });
  expect(resolveDesiredUpdate(object)).toEqual({ version: '4.20.1', image: 'r@sha256:1-multi', force: false });
});
