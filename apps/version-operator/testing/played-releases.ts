/** Releases of two operators, and an operator of them in this process: for stories of whole fleets. */
import type { Client, Clock } from '@flotilla/runtime';
import { runVersionOperator } from '../src/operator.ts';
import { component, imageOf, optionsOf, scriptOf, type TestRelease } from './world-case.ts';

/** Operators of each release, in the order of its levels. */
export const PLAYED_OPERATORS = ['etcd', 'dns'];

const releaseOf = (version: string): TestRelease => ({
  version,
  files: Object.assign({}, ...PLAYED_OPERATORS.map((name, level) => component(name, version, `${level + 1}0`))),
});

/** Pull spec of a release by its version. */
export const playedImage = (version: string): string => imageOf(releaseOf(version));

/** Script of a release for the fake operators. */
export const playedScript = (version: string) => scriptOf(version, PLAYED_OPERATORS);

/** An operator over a client. */
interface PlayedOperator {
  readonly client: Client;
  readonly clock: Clock;
  /** Versions of the releases that it can get; its own is of the first. */
  readonly versions: readonly [string, ...string[]];
  /** The way to whom releases are fetched from. */
  readonly far: <T>(act: () => Promise<T>, signal: AbortSignal) => Promise<T>;
}

/** Between two passes of a cluster that is as it should be, milliseconds. */
const PASS_MS = 600_000;

/** Runs an operator of the first version until the signal aborts. */
export function runPlayedReleases({ client, clock, versions: [own, ...others], far }: PlayedOperator, signal: AbortSignal): Promise<void> {
  const options = optionsOf(client, releaseOf(own), others.map(releaseOf));
  const source: typeof options.source = (surroundings) => {
    const near = options.source(surroundings);
    return { ...near, retrieve: (release, stop) => far(() => near.retrieve(release, stop), stop) };
  };
  return runVersionOperator({ ...options, source, clock, passEveryMs: PASS_MS }, signal);
}
