import { kstatus } from '@flotilla/api/testing';
import { type Ledger, verdictOf } from './ledger.ts';
import type { Property } from './property.ts';

/** What tools and people read. */
export function readings(ledger: Ledger): Property[] {
  return [genericTools(ledger), waitsHaveWords(ledger)];
}

const genericTools = (ledger: Ledger): Property => ({
  name: 'generic tools',
  rule: 'tools that know nothing of upgrades never read Current before the end, and never InProgress after it',
  look(changes) {
    for (const { name, after, before, isDeleted } of ledger.upgradesIn(changes)) {
      if (isDeleted || after.metadata.deletionTimestamp) continue;
      // Nobody has looked at a new generation yet.
      const isSeen = after.status?.observedGeneration === after.metadata.generation;
      const reads = kstatus(after);
      const verdict = verdictOf(after)?.status;
      if (before === undefined && after.status === undefined) continue;
      if (reads === 'Current' && verdict !== 'True') return `${name} reads Current, and its verdict is ${verdict}`;
      if (isSeen && reads === 'InProgress' && verdict !== undefined && after.status?.status.completedAt !== undefined)
        return `${name} reads InProgress after its end`;
      if (isSeen && verdict === 'False' && reads !== 'Failed') return `${name} failed, and reads ${reads}`;
    }
    return undefined;
  },
});

const waitsHaveWords = (ledger: Ledger): Property => ({
  name: 'waits have words',
  rule: 'every condition says something, and none is undefined',
  look(changes) {
    for (const { name, after } of ledger.upgradesIn(changes))
      for (const { type, reason, message } of after.status?.conditions ?? [])
        if (!message || !reason || /undefined|\bNaN\b|\[object/.test(message))
          return `${name}: condition ${type} says ${JSON.stringify(message)}`;
    return undefined;
  },
});
