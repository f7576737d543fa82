import { doneSeen, type Mutant, withoutLeave } from './mutant.ts';

/** Faults in the operators on a spoke. */
export const operatorMutants: readonly Mutant[] = [
  {
    name: 'an operator begins before the time of its upgrade',
    seenBy: withoutLeave,
    file: 'apps/upgrade-operator/src/reconcilers/upgrade-config/phases.ts',
    from: 'const isDue = schedule?.isReady === true ||',
    to: 'const isDue = schedule !== undefined ||',
  },
  {
    name: 'an operator begins on a cluster that is not fit',
    seenBy: withoutLeave,
    file: 'apps/upgrade-operator/src/steps/before.ts',
    from: "return verdict.blocks ? failed(verdict.message ?? 'the cluster is not healthy') : done;",
    to: 'return done;',
  },
  {
    name: 'an operator takes a control plane that has begun for done',
    seenBy: doneSeen,
    file: 'packages/upgrade/src/cluster-version.ts',
    from: "latestUpdateTo(clusterVersion, version)?.state === 'Completed';",
    to: 'latestUpdateTo(clusterVersion, version) !== undefined;',
  },
  {
    name: 'an operator waits for no worker',
    seenBy: doneSeen,
    file: 'packages/upgrade/src/pools.ts',
    from: 'isUpgrading: machines !== updated || hasMachines.some(isBetweenConfigurations),',
    to: 'isUpgrading: false,',
  },
  {
    name: 'an operator forgets that pools have not begun',
    seenBy: doneSeen,
    file: 'apps/upgrade-operator/src/steps/during.ts',
    from: 'if (untouched.length > 0 && nowMs < reactsUntil)',
    to: 'if (untouched.length > machines)',
  },
  {
    name: 'an operator goes where it is asked to while it goes elsewhere',
    seenBy: 'one version at a time',
    file: 'packages/upgrade/src/in-force.ts',
    from: 'if (!entry?.begunWith) return { upgradeConfig, entry: attemptAt(history, spec) };',
    to: 'if (!entry?.begunWith || entry) return { upgradeConfig, entry: attemptAt(history, spec) };',
  },
  {
    name: 'a release is applied before its operators say so',
    seenBy: 'applied was seen',
    file: 'apps/version-operator/src/apply/manifest-step.ts',
    from: 'if (expected) return judgeOperator(judged, expected, purpose);',
    to: 'if (expected) return ready;',
  },
];
