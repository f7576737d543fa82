import { readFile } from 'node:fs/promises';
import { errorMessage } from '@flotilla/api';
import { PullerExit } from '@flotilla/api/ran';
import { type Client, type Logger, pause, systemClock } from '@flotilla/runtime';
import type { Config } from './config.ts';
import type { ExitCode } from './errors.ts';
import { Follower } from './nodes/follower.ts';
import type { LeadPlace } from './nodes/messages.ts';
import { findLead } from './nodes/own-cluster.ts';
import { Progress } from './progress/progress.ts';
import type { PullRun } from './pull-run.ts';

/** Milliseconds between two looks for a lead: often until the first run, seldom after it. */
const FIRST_LOOK_MS = 1_000;
const LATER_LOOK_MS = 10_000;

/** Dependencies of following. */
interface FollowDeps {
  readonly cluster: Client;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly pull: (run: PullRun) => Promise<ExitCode>;
  /** Prints reports while a run lasts. */
  readonly reporting: (progress: Progress) => { finish(): Promise<void> };
}

/** Fills this node for one lead after another, until the signal aborts: a DaemonSet's pod has no end of its own. */
export async function followLeads(config: Config, deps: FollowDeps): Promise<ExitCode> {
  const { signal, logger } = deps;
  let done: string | undefined;
  while (!signal.aborted) {
    const lead = await findLead(deps.cluster, config.namespace, signal).catch((error: unknown) => {
      if (!signal.aborted) logger.warn({ err: errorMessage(error) }, 'Looking for the lead failed');
      return undefined;
    });
    if (lead && lead.key !== done) {
      const isDone = await followOne(config, lead, deps).catch((error: unknown) => {
        if (!signal.aborted) logger.info({ err: errorMessage(error) }, 'The lead cannot be followed');
        return false;
      });
      if (isDone) done = lead.key;
    }
    await pause(systemClock, done === undefined ? FIRST_LOOK_MS : LATER_LOOK_MS, signal);
  }
  return PullerExit.interrupted;
}

/** Fills this node for one lead; true when there is nothing more to do for this one. */
async function followOne(
  config: Config,
  lead: LeadPlace,
  { cluster, pull, reporting, signal: stop, logger }: FollowDeps,
): Promise<boolean> {
  const progress = new Progress(() => systemClock.now(), config.nodeName);
  await using follower = new Follower({
    lead,
    nodeName: config.nodeName,
    address: config.podAddress,
    blobPort: config.ports.blobs,
    readToken: () => readFile(config.podTokenPath, 'utf8'),
    report: () => progress.report(),
    isReplaced: async () => {
      const now = await findLead(cluster, config.namespace, stop);
      return now !== undefined && now.key !== lead.key;
    },
    signal: stop,
    clock: systemClock,
    logger,
  });
  if (await follower.join()) {
    logger.info('The lead fills this node itself');
    return true;
  }
  follower.start();
  const reporter = reporting(progress);
  const signal = AbortSignal.any([stop, follower.lost]);
  let isServed = false;
  const serve = async (code: ExitCode): Promise<ExitCode> => {
    isServed = true;
    await follower.serveUntilOver(code);
    return code;
  };
  const code = await pull({ progress, signal, logger, cap: follower, sharing: follower.sharing(), serve });
  if (!isServed && !signal.aborted) await follower.serveUntilOver(code);
  await reporter.finish();
  return !follower.lost.aborted;
}
