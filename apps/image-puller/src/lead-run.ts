import { errorMessage } from '@flotilla/api';
import { type NodeRules, PullerExit, type PullerReport } from '@flotilla/api/ran';
import { type Client, systemClock } from '@flotilla/runtime';
import type { Config } from './config.ts';
import type { ExitCode } from './errors.ts';
import { Lead } from './nodes/lead.ts';
import type { FilledNode } from './nodes/members.ts';
import { createVerifier, hasHadLead, publishLead, readExpected } from './nodes/own-cluster.ts';
import type { PullRun } from './pull-run.ts';

/** Dependencies of a run that leads other nodes. */
interface LeadRun extends PullRun {
  readonly rules: NodeRules;
  readonly cluster: Client;
  readonly pull: (run: PullRun) => Promise<ExitCode>;
}

/** A run that leads other nodes. */
interface LedRun {
  /** Sums the lead's own report and those of the others. */
  sum(own: PullerReport): PullerReport;
  /** Nodes besides the lead's own that have everything. */
  filled(): readonly FilledNode[];
  /** Fills this node, waits for the others, and returns the exit code of all. */
  run(): Promise<ExitCode>;
}

/** Prepares a run that leads the pullers of the other nodes. */
export function leadNodes(config: Config, { rules, cluster, pull, ...run }: LeadRun): LedRun {
  const { namespace } = config;
  const lead = new Lead({
    ...run,
    rules,
    goal: config.mode === 'prove' ? 'proven' : 'filled',
    nodeName: config.nodeName,
    address: config.podAddress,
    port: config.ports.lead,
    blobPort: config.ports.blobs,
    readExpected: (signal) => readExpected(cluster, { rules, namespace, signal }),
    verify: createVerifier(cluster, systemClock),
    succeeds: (signal) => hasHadLead(cluster, { namespace, signal }),
    publish: (place, signal) => publishLead(cluster, { namespace, place, signal }),
    clock: systemClock,
  });
  const conclude = async (own: ExitCode): Promise<ExitCode> => {
    const others = await lead.awaitNodes();
    await lead.end();
    const failed = config.mode === 'prove' ? PullerExit.missing : PullerExit.partlyDone;
    const codes = { whole: own, absent: PullerExit.absent, failed } as const;
    return own === PullerExit.done ? codes[others] : own;
  };
  return {
    sum: (own) => lead.sum(own),
    filled: () => lead.filled(),
    async run() {
      await using _lead = lead;
      try {
        await lead.start();
        let code: ExitCode | undefined;
        const serve = async (own: ExitCode): Promise<ExitCode> => (code = await conclude(own));
        const own = await pull({ ...run, sharing: lead.sharing(), serve });
        // A run that ended early kept nothing open, and the other nodes go on all the same.
        return code ?? (run.signal.aborted ? own : await conclude(own));
      } catch (error) {
        run.progress.enter('failed', `leading the other nodes failed: ${errorMessage(error)}`);
        run.logger.error({ err: errorMessage(error) }, 'Leading the other nodes failed');
        return run.signal.aborted ? PullerExit.interrupted : PullerExit.internal;
      }
    },
  };
}
