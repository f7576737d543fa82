import { ClusterVersion } from '@flotilla/api/config';
import { ManualClock } from '@flotilla/pace/testing';
import { type Client, createLogger, RefusedValues } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { firstRelease, readFirstRelease } from './first-release.ts';

const image = (digit: string, repository = 'registry.example/release'): string => `${repository}@sha256:${digit.repeat(64)}`;
const entry = (version: string, of: string, state = 'Completed', verified = true) => ({
  state,
  startedTime: '2026-01-01T00:00:00Z',
  completionTime: null,
  version,
  image: of,
  verified,
});
const cluster = (history: readonly object[], desiredUpdate?: object): ClusterVersion =>
  ClusterVersion.schema.parse({
    metadata: { name: 'version' },
    spec: { clusterID: 'x', desiredUpdate },
    status: { desired: { version: '', image: '' }, history },
  });
const given = image('a');

test.each<{ name: string; version: ClusterVersion | undefined; want: object }>([
  { name: 'a cluster that nobody has installed takes the given one', version: cluster([]), want: { image: given, isGiven: true } },
  { name: 'no ClusterVersion', version: undefined, want: { image: given, isGiven: true, verified: false } },
  {
    name: 'the given one is run: its signature was checked',
    version: cluster([entry('4.20.1', given)]),
    want: { version: '4.20.1', image: given, isGiven: true, verified: true },
  },
  {
    name: 'after an update the newer one counts, although nobody asks for it any more',
    version: cluster([entry('4.20.2', image('b')), entry('4.20.1', given)]),
    want: { version: '4.20.2', image: image('b'), isGiven: false, verified: true },
  },
  {
    name: 'in the middle of an update the one that is being applied counts',
    version: cluster([entry('4.20.2', image('b'), 'Partial', false), entry('4.20.1', given)], { image: image('b') }),
    want: { image: image('b'), isGiven: false, verified: false },
  },
  {
    name: 'the given one is asked for: it is taken as it is, as a release that brings its own operator',
    version: cluster([entry('4.20.2', image('b'))], { image: given }),
    want: { image: given, isGiven: true, verified: false },
  },
  {
    name: 'a release that was named by a tag cannot be found again',
    version: cluster([entry('4.20.2', 'registry.example/release:4.20.2')]),
    want: { image: given, isGiven: true },
  },
  {
    name: 'another name of the given one keeps the name that the history has',
    version: cluster([entry('4.20.1', image('a', 'mirror.example/release'))]),
    want: { image: image('a', 'mirror.example/release'), isGiven: false },
  },
])('$name', ({ version, want }) => expect(firstRelease(version, given)).toMatchObject(want));

describe('the given release is asked for while the cluster runs another', () => {
  const running = image('b');
  const history = [entry('4.20.2', running), entry('4.19.7', given)];
  const upgradeable = (status: string) => [
    { type: 'Upgradeable', status, reason: 'NotReady', message: 'dns is not ready', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ];
  const asking = (more: object = {}, conditions: readonly object[] = []): ClusterVersion => {
    const object = cluster(history, { image: given, ...more });
    return ClusterVersion.schema.parse({
      ...object,
      status: { ...object.status, desired: { version: '4.20.2', image: running }, conditions },
    });
  };

  /** Begins with one of two releases; the given one is of a version. */
  const begin = async (
    stored: ClusterVersion,
    version: string,
    { now = stored, judged }: { now?: ClusterVersion; judged?: ClusterVersion } = {},
  ) => {
    const files = { given: [], running: [] };
    let current = stored;
    const first = await readFirstRelease(
      {
        given: {
          image: () => given,
          read: () => {
            current = now;
            return files.given;
          },
          isFolder: true,
        },
        reopen: async () => files.running,
        clusterVersion: () => current,
        judged: () => judged ?? current,
        isObserving: false,
        refused: new RefusedValues(),
        client: {} as Client,
        clock: new ManualClock(),
        logger: createLogger({ name: 'test', level: 'silent' }),
      },
      async (read, { image: of }) => ({ of, release: { version: read === files.given ? version : '4.20.2' } }),
      new AbortController().signal,
    );
    return first.of;
  };

  test('it is begun with where nothing is against it: a release that brings its own operator', async () => {
    expect(await begin(asking(), '4.20.3')).toBe(given);
    expect(await begin(asking(), '4.21.0')).toBe(given);
  });

  test('it is not where an update to it would be refused: the cluster stays where it is', async () => {
    expect(await begin(asking(), '4.19.7')).toBe(running);
    expect(await begin(asking({}, upgradeable('False')), '4.21.0')).toBe(running);
    expect(await begin(asking(), '4.21.0', { judged: asking({}, upgradeable('False')) })).toBe(running);
    expect(await begin(asking({}, upgradeable('False')), '4.21.0', { judged: asking() })).toBe(running);
    expect(await begin(asking({ force: true }), '4.19.7')).toBe(given);
  });

  test('it is not where nobody asks for it any more when it is read', async () => {
    expect(await begin(asking(), '4.20.3', { now: cluster(history) })).toBe(running);
  });
});
