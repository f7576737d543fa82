import { errorMessage, FlotillaError, isSameJson, mergePatch, refKey } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, ClusterVersion } from '@flotilla/api/config';
import { UPGRADE_CONFIG_NAME, UpgradeConfig, type UpgradeConfigSpec } from '@flotilla/api/managed';
import { type Client, createChannel, type Logger, Semaphore } from '@flotilla/runtime';
import { beginningOf, heldMessage, isSameBeginning, isSent, isUnderWay, upgradeInForce } from '@flotilla/upgrade';
import { ClusterUnknownError, type OcmClient } from '../clients/ocm.ts';
import type { OcmPolicy } from '../clients/ocm-answers.ts';
import type { OperatorConfig } from '../operator-config/schema.ts';
import type { ConfigSource, Provider, ProviderProblem } from '../ports.ts';
import { byNextRun, isActionable, specOf } from './ocm-policy.ts';

/** The provider could not be asked, or the UpgradeConfig not be changed. Code `FLOTILLA_PROVIDER_FAILED`. */
class ProviderError extends FlotillaError {
  constructor(message: string, cause?: unknown) {
    super('FLOTILLA_PROVIDER_FAILED', cause === undefined ? message : `${message}: ${errorMessage(cause)}`, { cause });
  }
}

/** Dependencies of a provider. */
export interface ProviderOptions {
  readonly client: Pick<Client, 'get' | 'list' | 'create' | 'patch' | 'delete'>;
  readonly namespace: string;
  readonly config: Pick<ConfigSource, 'current'>;
  /** OCM, or its agent, at the configured address. */
  readonly ocm: (baseUrl: string) => OcmClient;
  readonly logger: Logger;
}

/** Limit on the policies of one cluster that are asked for their state. */
const MAX_POLICIES = 20;

/**
 * The source that the configuration names (spec/muo 3). OCM's policies are carried into the UpgradeConfig; with LOCAL, and without a
 * source, the UpgradeConfig is its user's: nothing changes or deletes it.
 */
export function createProvider(options: ProviderOptions): Provider {
  const { namespace, logger } = options;
  const watch = createChannel();
  let last: ProviderProblem | undefined;
  const say = (problem: ProviderProblem | undefined): void => {
    if (isSameJson(problem, last)) return;
    last = problem;
    if (problem) logger.info({ reason: problem.reason, message: problem.message }, 'The UpgradeConfig may not be what is wanted');
    watch.enqueue(refKey({ namespace, name: UPGRADE_CONFIG_NAME }));
  };
  const [refreshes, changes] = [new Semaphore(1), new Semaphore(1)];
  const refresh = async (signal: AbortSignal): Promise<boolean> => {
    signal.throwIfAborted();
    const ocm = ocmOf(options);
    if (!ocm) return false;
    try {
      const { wanted, unreadable } = await wantedByOcm(ocm.client, ocm.config, signal);
      const { plan, isChanged } = await changes.run(() => carryOut(options, wanted, signal));
      say(plan.act === 'later' ? heldProblem(plan.current, wanted) : unreadable);
      return isChanged;
    } catch (error) {
      signal.throwIfAborted();
      say({ reason: 'ProviderUnavailable', message: errorMessage(error) });
      throw error;
    }
  };
  return {
    // Refreshes take turns, so that an older answer is never written after a newer one.
    refresh: (signal) => refreshes.run(() => refresh(signal)),
    whileUnchanged: (act) => changes.run(act),
    problem: () => (ocmOf(options) ? last : undefined),
    watch,
  };
}

/** OCM, where the configuration names it as the source. */
function ocmOf({ config, ocm }: ProviderOptions): { readonly client: OcmClient; readonly config: OperatorConfig } | undefined {
  const { config: current } = config.current();
  const { source, ocmBaseUrl } = current?.configManager ?? {};
  return current && source === 'OCM' && ocmBaseUrl !== undefined ? { client: ocm(ocmBaseUrl), config: current } : undefined;
}

const heldProblem = (current: UpgradeConfig, wanted: UpgradeConfigSpec | undefined): ProviderProblem => ({
  reason: 'ChangeHeld',
  message: heldMessage('OCM', wanted && beginningOf(wanted), upgradeInForce(current).upgradeConfig),
});

/** Waits for an answer, whose failure is told after these words; an abort is none. */
const saying = <T>(words: string, answer: Promise<T>, signal: AbortSignal): Promise<T> =>
  answer.catch((error: unknown) => {
    signal.throwIfAborted();
    throw new ProviderError(words, error);
  });

/**
 * The earliest policy that wants an upgrade, as a spec (spec/muo 3.5). One that cannot be read is passed over; it may be the one that the UpgradeConfig came
 * from, so without any other this throws rather than want nothing.
 */
async function wantedByOcm(ocm: OcmClient, { upgradeType }: OperatorConfig, signal: AbortSignal) {
  const cluster = await ocm.cluster(signal).catch((error: unknown) => {
    signal.throwIfAborted();
    const cause = error instanceof ClusterUnknownError ? error : new ProviderError('OCM Provider unavailable', error);
    throw new ProviderError('unable to retrieve upgrade spec', cause);
  });
  const retrieve = <T>(ask: Promise<T>): Promise<T> =>
    saying('unable to retrieve upgrade spec', saying('could not retrieve provider upgrade policies', ask, signal), signal);
  const policies = byNextRun(await retrieve(ocm.policies(cluster.id, signal)));
  const isWanting = async (policy: OcmPolicy) =>
    policy.id === '' || isActionable(policy, (await retrieve(ocm.policyState(cluster.id, policy.id, signal))).value);
  const problems: string[] = [];
  let wanted: UpgradeConfigSpec | undefined;
  for (const policy of policies.slice(0, MAX_POLICIES)) {
    const spec = specOf(policy, cluster, upgradeType);
    // The first one that can be carried out counts; of those after it only what is wrong with them is of interest.
    if ((wanted && typeof spec !== 'string') || !(await isWanting(policy))) continue;
    if (typeof spec === 'string') problems.push(`policy ${policy.id || 'without an id'}: ${spec}`);
    else wanted = spec;
  }
  const said = problems.join('; ').slice(0, 1_024);
  if (!wanted && policies.length > MAX_POLICIES)
    throw new ProviderError(
      `unable to retrieve upgrade spec: OCM has ${policies.length} policies, at most ${MAX_POLICIES} are asked for their state, and none of these wants an upgrade: delete those that are over`,
    );
  if (problems.length === 0) return { wanted, unreadable: undefined };
  if (!wanted) throw new ProviderError(`unable to retrieve upgrade spec: could not process provider upgrade policies: ${said}`);
  const message = `upgrade policies of OCM cannot be read and are passed over: ${said}`;
  return { wanted, unreadable: { reason: 'PolicyUnreadable', message } as const };
}

/** Makes the UpgradeConfig what is wanted, by what the API server says of it and of the cluster at this moment. */
async function carryOut(options: ProviderOptions, wanted: UpgradeConfigSpec | undefined, signal: AbortSignal) {
  const { client, namespace } = options;
  const asked = client.get(UpgradeConfig, { namespace, name: UPGRADE_CONFIG_NAME }, { signal });
  const current = await saying('unable to retrieve upgradeconfigs', asked, signal);
  const clusterVersion = current && (await readClusterVersion(options, signal));
  const plan = planRefresh(current, wanted, (upgradeConfig) => isSent(upgradeInForce(upgradeConfig), clusterVersion));
  const words = plan.act === 'remove' ? 'unable to remove existing UpgradeConfig' : 'unable to apply UpgradeConfig changes';
  return { plan, isChanged: await saying(words, write(options, current, plan, signal), signal) };
}

async function readClusterVersion({ client }: ProviderOptions, signal: AbortSignal): Promise<ClusterVersion | undefined> {
  const only = { fieldSelector: `metadata.name=${CLUSTER_VERSION_NAME}`, signal };
  return (await saying('unable to retrieve clusterversions', client.list(ClusterVersion, only), signal)).items[0];
}

/** Carries out the plan, and resolves to true when it changed anything. The uid protects an object that has taken the place of `current`. */
async function write(
  { client, namespace, logger }: ProviderOptions,
  current: UpgradeConfig | undefined,
  plan: RefreshPlan,
  signal: AbortSignal,
): Promise<boolean> {
  const ref = { namespace, name: UPGRADE_CONFIG_NAME };
  const uid = current?.metadata.uid;
  switch (plan.act) {
    case 'nothing':
    case 'later':
      return false;
    case 'remove':
      logger.info('Removing the UpgradeConfig: no upgrade is wanted any more');
      await client.delete(UpgradeConfig, ref, { uid, signal });
      return true;
    case 'create':
      logger.info({ version: plan.spec.desired.version, upgradeAt: plan.spec.upgradeAt }, 'Creating the UpgradeConfig');
      await client.create(UpgradeConfig, { ...OBJECT, metadata: ref, spec: plan.spec }, { signal });
      return true;
    case 'change': {
      logger.info({ version: plan.spec.desired.version, upgradeAt: plan.spec.upgradeAt }, 'Changing the UpgradeConfig');
      const patch = { metadata: { uid }, spec: mergePatch(current?.spec ?? {}, plan.spec) };
      await client.patch(UpgradeConfig, ref, patch, { type: 'merge', signal });
      return true;
    }
  }
}

const OBJECT = { apiVersion: UpgradeConfig.apiVersion, kind: UpgradeConfig.kind };

/** Act that makes an UpgradeConfig match the wish of its provider. */
type RefreshPlan =
  | { readonly act: 'nothing' }
  /** It differs, but the cluster was sent: the end of its upgrade comes first. */
  | { readonly act: 'later'; readonly current: UpgradeConfig }
  | { readonly act: 'create' | 'change'; readonly spec: UpgradeConfigSpec }
  | { readonly act: 'remove' };

/**
 * Decides it (spec/muo 3.2): the object stays, with its history, and is not changed from when the cluster was sent until the upgrade has ended. Pure.
 * @param isSent the cluster was sent where the upgrade of an UpgradeConfig goes
 */
export function planRefresh(
  current: UpgradeConfig | undefined,
  wanted: UpgradeConfigSpec | undefined,
  isSent: (upgradeConfig: UpgradeConfig) => boolean,
): RefreshPlan {
  if (!current) return wanted ? { act: 'create', spec: wanted } : { act: 'nothing' };
  if (wanted && isSame(current.spec, wanted)) return { act: 'nothing' };
  if (isUnderWay(current) && isSent(current)) return { act: 'later', current };
  return wanted ? { act: 'change', spec: wanted } : { act: 'remove' };
}

const isSame = (a: UpgradeConfigSpec, b: UpgradeConfigSpec): boolean =>
  isSameBeginning(beginningOf(a), beginningOf(b)) &&
  a.PDBForceDrainTimeout === b.PDBForceDrainTimeout &&
  (a.capacityReservation ?? false) === (b.capacityReservation ?? false);
