import { errorMessage, FlotillaError, mergePatch } from '@flotilla/api';
import { UPGRADE_CONFIG_NAME, UpgradeConfig, type UpgradeConfigSpec } from '@flotilla/api/managed';
import { type Client, isConflict, isNotFound, type Logger } from '@flotilla/runtime';
import { ClusterUnknownError, type OcmClient } from '../clients/ocm.ts';
import type { ConfigSource, OperatorConfig, Provider } from '../ports.ts';
import { byNextRun, isActionable, specOf } from './ocm-policy.ts';
import { planRefresh } from './refresh-plan.ts';

/** Whoever decides on upgrades could not be asked, or the UpgradeConfig not be changed. Code `FLOTILLA_PROVIDER_FAILED`. */
export class ProviderError extends FlotillaError {
  constructor(message: string, cause?: unknown) {
    super('FLOTILLA_PROVIDER_FAILED', cause === undefined ? message : `${message}: ${errorMessage(cause)}`, { cause });
  }
}

/** What a provider works with. */
export interface ProviderOptions {
  readonly client: Pick<Client, 'get' | 'create' | 'patch' | 'delete'>;
  readonly namespace: string;
  readonly config: Pick<ConfigSource, 'current'>;
  /** OCM, or its agent, at the configured address. */
  readonly ocm: (baseUrl: string) => OcmClient;
  readonly logger: Logger;
}

/** How many policies of one cluster are asked for their state. */
const MAX_POLICIES = 20;

/**
 * The source that the configuration names (spec/muo 3). OCM's policies are carried into the UpgradeConfig; with LOCAL, and without a
 * source, the UpgradeConfig is its user's: nothing changes or deletes it.
 */
export function createProvider(options: ProviderOptions): Provider {
  return {
    async refresh(signal) {
      const { config } = options.config.current();
      if (config?.configManager.source !== 'OCM' || config.configManager.ocmBaseUrl === undefined) return false;
      const current = await readCurrent(options, signal);
      const wanted = await wantedByOcm(options.ocm(config.configManager.ocmBaseUrl), config, signal);
      return carryOut(options, current, wanted, signal);
    },
  };
}

async function readCurrent({ client, namespace }: ProviderOptions, signal: AbortSignal): Promise<UpgradeConfig | undefined> {
  return client.get(UpgradeConfig, { namespace, name: UPGRADE_CONFIG_NAME }, { signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new ProviderError('unable to retrieve upgradeconfigs', error);
  });
}

/** The earliest policy that wants an upgrade, as a spec (spec/muo 3.5). */
async function wantedByOcm(ocm: OcmClient, { upgradeType }: OperatorConfig, signal: AbortSignal): Promise<UpgradeConfigSpec | undefined> {
  const cluster = await ocm.cluster(signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new ProviderError(
      'unable to retrieve upgrade spec',
      error instanceof ClusterUnknownError ? error : new ProviderError('OCM Provider unavailable', error),
    );
  });
  const retrieve = async <T>(ask: Promise<T>): Promise<T> =>
    ask.catch((error: unknown) => {
      signal.throwIfAborted();
      throw new ProviderError('unable to retrieve upgrade spec', new ProviderError('could not retrieve provider upgrade policies', error));
    });
  const policies = byNextRun(await retrieve(ocm.policies(cluster.id, signal)));
  for (const policy of policies.slice(0, MAX_POLICIES)) {
    const { value } = await retrieve(ocm.policyState(cluster.id, policy.id, signal));
    if (!isActionable(policy, value)) continue;
    const spec = specOf(policy, cluster, upgradeType);
    if (typeof spec !== 'string') return spec;
    throw new ProviderError(`unable to retrieve upgrade spec: could not process provider upgrade policies: policy ${policy.id}: ${spec}`);
  }
  return undefined;
}

async function carryOut(
  { client, namespace, logger }: ProviderOptions,
  current: UpgradeConfig | undefined,
  wanted: UpgradeConfigSpec | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const ref = { namespace, name: UPGRADE_CONFIG_NAME };
  const plan = planRefresh(current, wanted);
  try {
    switch (plan.act) {
      case 'nothing':
        return false;
      case 'later':
        logger.info({ wanted: wanted?.desired.version }, 'Leaving the UpgradeConfig as it is until its upgrade has ended');
        return false;
      case 'remove':
        logger.info('Removing the UpgradeConfig: no upgrade is wanted any more');
        return await client.delete(UpgradeConfig, ref, { uid: current?.metadata.uid, signal });
      case 'create':
        logger.info({ version: plan.spec.desired.version, upgradeAt: plan.spec.upgradeAt }, 'Creating the UpgradeConfig');
        await client.create(UpgradeConfig, { ...OBJECT, metadata: ref, spec: plan.spec }, { signal });
        return true;
      case 'change': {
        logger.info({ version: plan.spec.desired.version, upgradeAt: plan.spec.upgradeAt }, 'Changing the UpgradeConfig');
        const { uid, resourceVersion } = current?.metadata ?? {};
        const patch = { metadata: { uid, resourceVersion }, spec: mergePatch(current?.spec ?? {}, plan.spec) };
        await client.patch(UpgradeConfig, ref, patch, { type: 'merge', signal });
        return true;
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    // Somebody changed it meanwhile: as good as a change of ours, whoever asked looks again.
    if (isConflict(error) || isNotFound(error)) return true;
    const what = plan.act === 'remove' ? 'unable to remove existing UpgradeConfig' : 'unable to apply UpgradeConfig changes';
    throw new ProviderError(what, error);
  }
}

const OBJECT = { apiVersion: UpgradeConfig.apiVersion, kind: UpgradeConfig.kind };
