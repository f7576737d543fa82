/** Asks the API server whether an upgrade is still requested, because the object that a pass began with may be out of date. */
import { UpgradeConfig } from '@flotilla/api/managed';
import type { Client } from '@flotilla/runtime';
import { askedMessage, beginningOf, isSameBeginning } from '@flotilla/upgrade';
import type { Caches } from '../../caches.ts';
import type { Ports } from '../../ports.ts';
import { type StepContext, WithdrawnError } from '../../steps/step.ts';

/** An API server that does not answer fails the step, which is tried again. */
const WAIT_MS = 10_000;

interface Asking {
  readonly client: Pick<Client, 'get'>;
  readonly upgradeConfig: UpgradeConfig;
  readonly caches: Pick<Caches, 'upgradeConfigs'>;
  readonly ports: Pick<Ports, 'provider'>;
  readonly signal: AbortSignal;
}

/** Resolves when the UpgradeConfig of the pass is there and asks for its upgrade. @throws WithdrawnError */
export async function assertAsked({ client, upgradeConfig, caches, signal }: Omit<Asking, 'ports'>): Promise<void> {
  const { namespace, name, uid } = upgradeConfig.metadata;
  const now = await client.get(UpgradeConfig, { namespace, name }, { signal, timeoutMs: WAIT_MS });
  if (!now || now.metadata.uid !== uid || now.metadata.deletionTimestamp) throw new WithdrawnError('the UpgradeConfig was deleted');
  caches.upgradeConfigs.wrote(now);
  const wanted = beginningOf(now.spec);
  if (!isSameBeginning(wanted, beginningOf(upgradeConfig.spec))) throw new WithdrawnError(askedMessage('the UpgradeConfig', wanted));
}

/** For steps. @param isSent the cluster was sent: what is asked for by now waits */
export const whileAsked =
  (pass: Asking, isSent: boolean): StepContext['whileAsked'] =>
  (act) =>
    isSent
      ? act()
      : pass.ports.provider.whileUnchanged(async () => {
          await assertAsked(pass);
          return act();
        });
