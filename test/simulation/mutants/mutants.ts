/** A fault of a class that was seen before, put into the code as a change of a line or two. */
export interface Mutant {
  /** The fault, in a sentence. */
  readonly name: string;
  /** Name of the property that must see it. */
  readonly seenBy: string | readonly string[];
  /** File from the root of the repository, and the text in it, which is there once. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const gates = 'packages/rollout/src/gates/gates.ts';
const advance = 'packages/rollout/src/batches/advance.ts';
const underWay = 'packages/rollout/src/batches/clusters-under-way.ts';
const interpret = 'apps/hub/src/spokes/jobs/plan.ts';
const claims = 'apps/hub/src/spokes/jobs/claims.ts';
const reconciler = 'apps/hub/src/upgrades/reconciler.ts';
const placements = 'packages/rollout/src/placements/placements.ts';
const workQueue = 'packages/runtime/src/work-queue.ts';

const afterNo = 'no effect after a no';
const inOrder = 'batches in order';
const completeSeen = 'complete was seen';
const withoutLeave = 'no version without leave';
const doneSeen = 'done was seen';

/** Each is one class of fault that reports, a simulation or a test has found at some time. */
export const mutants: readonly Mutant[] = [
  {
    name: 'a pause is no pause',
    seenBy: afterNo,
    file: 'packages/rollout/src/gates/pause.ts',
    from: 'if (value === undefined) return undefined;',
    to: "if (value === undefined || value === 'drain') return undefined;",
  },
  { name: 'a window is no gate', seenBy: afterNo, file: gates, from: "  { name: 'window', batch: windowOpen },\n", to: '' },
  {
    name: 'a wave has no patience',
    seenBy: 'waves are full',
    file: 'packages/rollout/src/batches/waves.ts',
    from: 'if (isEnough && now >= until) return { wave };',
    to: 'if (isEnough) return { wave };',
  },
  {
    name: 'a wave waits until it is full',
    seenBy: 'a wave waits for nobody',
    file: 'packages/rollout/src/batches/waves.ts',
    from: 'if (isEnough && now >= until) return { wave };',
    to: '',
  },
  {
    name: 'a wave knows no least',
    seenBy: 'waves are full',
    file: 'packages/rollout/src/batches/waves.ts',
    from: 'const isEnough = wave.length >= Math.min(least, size, open.length) && wave.length > 0;',
    to: 'const isEnough = wave.length > 0;',
  },
  {
    name: 'a wave takes the last that are ready',
    seenBy: 'ready first',
    file: 'packages/rollout/src/batches/waves.ts',
    from: 'const wave = open.filter(isReady).slice(0, size);',
    to: 'const wave = open.filter(isReady).slice(-size);',
  },
  {
    name: 'limits know no label',
    seenBy: 'limits are kept',
    file: 'packages/rollout/src/limits/places.ts',
    from: 'mostOf({ ...each, ...(Object.hasOwn(values, value) && values[value]) }, limited)',
    to: 'undefined',
  },
  {
    name: 'places that are not stored yet are free',
    seenBy: 'limits are kept',
    file: 'apps/hub/src/limits/places.ts',
    from: 'for (const { other, given } of others) for (const cluster of given) occupancy.take(cluster, refKey(other.metadata));',
    to: '',
  },
  {
    name: 'a pull that has begun has no place',
    seenBy: 'limits are kept',
    file: 'packages/rollout/src/limits/places.ts',
    from: "state === 'NotStarted' || isFinalPrecacheState(state)",
    to: "state !== 'Active'",
  },
  {
    name: 'a place that is free is told to nobody',
    seenBy: ['places are used', 'every upgrade ends'],
    file: 'apps/hub/src/limits/places.ts',
    from: "if (type === 'deleted' || (previous && freesPlaces(previous, object))) tellWaiting();",
    to: '',
  },
  {
    name: 'hours of a cluster are no bar',
    seenBy: 'hours are kept',
    file: 'apps/hub/src/upgrades/observe.ts',
    from: '(findHold(cluster) ?? findClosedHours(cluster, now))',
    to: 'findHold(cluster)',
  },
  { name: 'enable is no gate', seenBy: afterNo, file: gates, from: "  { name: 'enable', judge: enabled },\n", to: '' },
  { name: 'blocking upgrades are no gate', seenBy: afterNo, file: gates, from: "  { name: 'blocking', judge: blockersDone },\n", to: '' },
  {
    name: 'one pull that has ended opens the gate of all',
    seenBy: afterNo,
    file: gates,
    from: 'const mayGoOn = input.precaching.finished || input.isFirstReady === true;',
    to: 'const mayGoOn = true;',
  },
  {
    name: 'a blocking upgrade that failed has completed',
    seenBy: afterNo,
    file: 'packages/rollout/src/gates/blocking.ts',
    from: "return partial ? succeeded !== undefined : succeeded?.status === 'True';",
    to: 'return partial ? succeeded !== undefined : succeeded !== undefined;',
  },
  {
    name: 'a batch is through with its first cluster',
    seenBy: [inOrder, 'success of all'],
    file: advance,
    from: 'const isThrough = clusters.every((cluster)',
    to: 'const isThrough = clusters.some((cluster)',
  },
  {
    name: 'a batch has one cluster more',
    seenBy: 'batch sizes',
    file: 'packages/rollout/src/batches/batches.ts',
    from: 'start += size) batches.push(others.slice(start, start + size));',
    to: 'start += size) batches.push(others.slice(start, start + size + 1));',
  },
  {
    name: 'canaries go with all others',
    seenBy: 'canaries first',
    file: 'packages/rollout/src/batches/batches.ts',
    from: 'const canaries = new Set(input.canaries?.filter((canary) => known.has(canary)));',
    to: 'const canaries = new Set(input.canaries?.filter((canary) => !known.has(canary)));',
  },
  {
    name: 'whoever is enforced has complied',
    seenBy: completeSeen,
    file: 'packages/rollout/src/batches/cluster-machine.ts',
    from: "isThrough: seen(({ position }) => position === 'through'),",
    to: "isThrough: seen(({ position }) => position === 'through' || position === 'at'),",
  },
  {
    name: 'a cluster in no roll-up has complied',
    seenBy: completeSeen,
    file: 'packages/rollout/src/policies/standing.ts',
    from: "standing: (cluster, index) => at(cluster, index)?.standing ?? 'pending',",
    to: "standing: (cluster, index) => (at(cluster, index)?.standing === 'unseen' ? 'done' : (at(cluster, index)?.standing ?? 'pending')),",
  },
  {
    name: 'a policy that is gone is not meant for anybody',
    seenBy: completeSeen,
    file: 'packages/rollout/src/policies/standing.ts',
    from: 'const { seconds, problem }: Soak = policy ? readSoak(policy) : { seconds: 0 };',
    to: "if (!policy) return { name: ref.name, look: (cluster: string) => ({ ...look(cluster), standing: 'done' as const }), soakSeconds: 0 };\n    const { seconds, problem }: Soak = readSoak(policy);",
  },
  {
    name: 'no policy soaks',
    seenBy: 'soaks last',
    file: 'packages/rollout/src/policies/standing.ts',
    from: 'soakSeconds: (index) => found[index]?.soakSeconds ?? 0,',
    to: 'soakSeconds: () => 0,',
  },
  {
    name: 'nobody looks back at the end',
    seenBy: 'success is now',
    file: advance,
    from: "this.#drift = this.#state === 'preparing' ? [] : findDrift(this.#clusters, input.observation);",
    to: 'this.#drift = [];',
  },
  {
    name: 'the end looks at its own records alone',
    seenBy: ['success of all', 'success is now'],
    file: advance,
    from: 'if (this.#left.length === 0) this.#verdict = this.#conclude();',
    to: 'if (this.#left.length >= 0) this.#verdict = this.#conclude();',
  },
  {
    name: 'clusters that were lost count as complete',
    seenBy: 'success of all',
    file: advance,
    from: 'if (lost.length === 0) return plan.length === 0',
    to: 'if (lost.length < plan.length) return plan.length === 0',
  },
  {
    name: 'a job with an empty status has succeeded',
    seenBy: ['pulled was seen', afterNo],
    file: interpret,
    from: "if (succeeded > 0) return { event: { type: 'SUCCEEDED' }",
    to: "if (succeeded > 0 || active === 0) return { event: { type: 'SUCCEEDED' }",
  },
  {
    name: 'a job that is gone has done its work',
    seenBy: 'pulled was seen',
    file: interpret,
    from: "if (job.answer.kind === 'absent') return { event: { type: 'FAILED' }, message:",
    to: "if (job.answer.kind === 'absent') return { event: { type: 'SUCCEEDED' }, message:",
  },
  {
    name: 'a spoke is anybody’s',
    seenBy: ['one job at a time', 'one job', 'pulled was seen', 'every upgrade ends'],
    file: claims,
    from: 'const holder = claimed?.uid ?? ownerOfObjects(this.#work, cluster, uid, this.#caches) ?? this.#storedOwner(uid, cluster);',
    to: 'const holder: string | undefined = undefined;',
  },
  {
    name: 'a rollout that runs is prepared again',
    seenBy: ['never back', inOrder],
    file: reconciler,
    from: 'const running = isRunning(upgrade);',
    to: 'const running = isRunning(upgrade) && (upgrade.status?.status.currentBatch ?? 0) !== 1;',
  },
  {
    name: 'Ready is said with the start of the last batch',
    seenBy: 'generic tools',
    file: 'apps/hub/src/upgrades/status-readings.ts',
    from: "const isReady = verdict?.status === 'True' && obstacle === undefined;",
    to: 'const isReady = obstacle === undefined;',
  },
  {
    name: 'a failure stalls nothing',
    seenBy: 'generic tools',
    file: 'apps/hub/src/upgrades/status-readings.ts',
    from: '...(obstacle ? [condition(Type.stalled, true, obstacle)] : []),',
    to: '',
  },
  {
    name: 'a held cluster is begun',
    seenBy: 'held is held',
    file: 'apps/hub/src/upgrades/observe.ts',
    from: '(findHold(cluster) ?? findClosedHours(cluster, now))',
    to: 'findClosedHours(cluster, now)',
  },
  {
    name: 'a Placement names the whole plan',
    seenBy: inOrder,
    file: placements,
    from: '    .map(([cluster]) => cluster)\n    .toSorted();',
    to: '    .map(([cluster]) => cluster)\n    .concat((status?.remediationPlan ?? []).flat())\n    .toSorted();',
  },
  {
    name: 'decisions beyond the members are bound',
    seenBy: 'strangers are left alone',
    file: placements,
    from: 'if (![...decided].every((cluster) => wanted.has(cluster))) return false;',
    to: 'if (![...decided].some((cluster) => wanted.has(cluster))) return false;',
  },
  {
    name: 'a restored upgrade is a new one',
    seenBy: ['a restored upgrade waits', 'never back'],
    file: 'packages/rollout/src/clusters/returning.ts',
    from: 'return name === nameDigest(metadata) && uid !== metadata.uid;',
    to: 'return name === nameDigest(metadata) && uid === undefined;',
  },
  {
    name: 'Placements of ended upgrades stay',
    seenBy: ['nothing is left', 'every upgrade ends'],
    file: placements,
    from: '    : [deletionOf(kind, object)];',
    to: '    : [];',
  },
  {
    name: 'a deleted upgrade goes without cleaning up',
    seenBy: 'nothing is left',
    file: reconciler,
    from: 'const again = await this.#cleanUp(upgrade, memory);\n    if (again) return this.#describeCleaning(upgrade, memory, again);\n    await writeFinalizer(',
    to: 'await writeFinalizer(',
  },
  {
    name: 'a cluster that is away is clean',
    seenBy: 'nothing is left',
    file: 'apps/hub/src/spokes/cleaning.ts',
    from: '} else if (isWanted && (state !== job.initial || isStopped)) effects.remember();',
    to: '}',
  },
  {
    name: 'a spoke that no job touched is cleaned',
    seenBy: 'the untouched is not cleaned',
    file: 'apps/hub/src/spokes/cleaning.ts',
    from: 'if (!hasObjects && (state === undefined || !this.#isUnclean(state))) return undefined;',
    to: '',
  },
  {
    name: 'the patience with a spoke begins anew with each look',
    seenBy: 'every upgrade ends',
    file: 'apps/hub/src/spokes/jobs/part.ts',
    from: 'waitingSince: () => sightings.since(waiting),',
    to: 'waitingSince: () => at,',
  },
  {
    name: 'a key that waits for its place is forgotten',
    seenBy: ['every upgrade ends', 'nothing is left'],
    file: 'apps/hub/src/spokes/reconciler.ts',
    from: 'this.#reconciler?.enqueue(next);',
    to: '',
  },
  {
    name: 'who waits for a spoke is told of nothing',
    seenBy: 'every upgrade ends',
    file: 'apps/hub/src/spokes/jobs/part.ts',
    from: 'this.#deps.onFree(uid);\n',
    to: '\n',
  },
  {
    name: 'a spoke is cleaned before its verdict is stored',
    seenBy: ['one job', 'pulled was seen', 'every upgrade ends', 'never back'],
    file: 'apps/hub/src/spokes/jobs/plan.ts',
    from: 'if (!isCleaning || states.stored === state) effects[effect]();',
    to: 'effects[effect]();',
  },
  {
    name: 'an upgrade that is being deleted goes on',
    seenBy: [afterNo, 'never back', 'every upgrade ends', 'nothing is left'],
    file: reconciler,
    from: 'if (upgrade.metadata.deletionTimestamp) return this.#finalize(upgrade, memory);',
    to: '',
  },
  {
    name: 'nothing times out',
    seenBy: 'every upgrade ends',
    file: advance,
    from: 'return this.#input.now >= time;',
    to: 'return this.#input.now >= time && this.#input.now < time;',
  },
  {
    name: 'what comes while a key runs is forgotten',
    seenBy: ['every upgrade ends', 'nothing is left', 'at rest'],
    file: workQueue,
    from: 'else if (run.again) this.add(key);',
    to: '',
  },
  {
    name: 'a failure is tried again never',
    seenBy: ['every upgrade ends', 'nothing is left'],
    file: workQueue,
    from: 'const afterMs = backOffMs(backOff, attempt, random);\n    this.#retryAfter(key, afterMs);',
    to: 'const afterMs = backOffMs(backOff, attempt, random);',
  },
  {
    name: 'a timer asked for later puts off the earlier',
    seenBy: ['every upgrade ends', 'nothing is left'],
    file: 'packages/runtime/src/timers.ts',
    from: 'if (current && current.at <= at) return;',
    to: '',
  },
  {
    name: 'an older event brings back what was written over',
    seenBy: ['never back', 'one job', 'at rest', inOrder, completeSeen],
    file: 'packages/runtime/src/object-store.ts',
    from: 'return version !== undefined && written > version;\n  }\n\n  #unindex',
    to: 'return false;\n  }\n\n  #unindex',
  },
  {
    name: 'after a 410 the old version is watched on',
    seenBy: ['every upgrade ends', 'nothing is left', 'at rest', 'comes to rest'],
    file: 'packages/runtime/src/watch-cache.ts',
    from: 'if (watching && (needsList(error) || this.#fruitless > FRUITLESS_WATCHES)) this.#listNext();',
    to: '',
  },
  {
    name: 'whoever looks has the lease',
    seenBy: ['one job', 'never back', 'one job at a time', 'comes to rest', 'every upgrade ends'],
    file: 'packages/runtime/src/leader-election.ts',
    from: 'if (this.#seen && !this.#isOurs() && !this.#isFree(this.#seen)) return false;',
    to: '',
  },
  {
    name: 'an ended upgrade writes its end at each look',
    seenBy: ['at rest', 'never back', 'comes to rest'],
    file: reconciler,
    from: "if (state === 'cleaned') return this.#revise(key, upgrade, memory);",
    to: "if (state === 'cleaned') return this.#complete(upgrade, memory);",
  },
  {
    name: 'a batch that times out is skipped without a record',
    seenBy: ['success of all', inOrder, 'every upgrade ends'],
    file: underWay,
    from: "else if (state === 'timedOut') this.#recordTimedOut(cluster);",
    to: "else if (state === 'timedOut') this.#recorded.set(cluster, RecordState.timedOut);",
  },
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
  {
    name: 'a batch that times out goes on all the same',
    seenBy: 'abort ends',
    file: advance,
    from: "return this.#input.spec.batchTimeoutAction === 'Abort' ? tookTooLong(kind, ' on some clusters') : undefined;",
    to: 'return undefined;',
  },
];
