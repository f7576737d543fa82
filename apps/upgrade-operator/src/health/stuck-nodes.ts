import { errorMessage } from '@flotilla/api';
import type { Node } from '@flotilla/api/core';
import type { Client, Clock } from '@flotilla/runtime';
import { describeHolders, stuckNodes } from '@flotilla/upgrade';
import { keptByKey } from '../clients/kept.ts';
import { readPods } from '../drain/node-drains.ts';
import type { NodeReports } from '../ports.ts';

/** A worker is looked at so often at most: its pods are listed for it. */
const KEEP_MS = 60_000;
/** Nodes whose pods are listed. */
const MOST = 3;
const LONGEST = 256;

/** Reads what holds nodes that are not drained in time. It is never a reason to fail: what cannot be read is said in its place. */
export function createNodeReports(client: Pick<Client, 'list'>, clock: Clock): NodeReports {
  const holdersOf = keptByKey(
    { clock, keepMs: KEEP_MS, failures: { baseMs: KEEP_MS, maxMs: KEEP_MS } },
    async (node: string, signal: AbortSignal) => {
      const { pods, budgets } = await readPods(client, node, signal);
      return describeHolders(pods, budgets);
    },
  );
  const report = async (node: Node, signal: AbortSignal) => {
    const holders = await holdersOf(node.metadata.name, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      return `its pods cannot be listed: ${errorMessage(error).slice(0, LONGEST)}`;
    });
    return { node, holders };
  };
  return {
    async stuck({ nodes, expectedMinutes }, signal) {
      const found = stuckNodes(nodes, { expectedMinutes, nowMs: clock.now() });
      const first = await Promise.all(found.slice(0, MOST).map((node) => report(node, signal)));
      return [...first, ...found.slice(MOST).map((node) => ({ node, holders: '' }))];
    },
  };
}
