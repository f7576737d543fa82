/** Changes that the page asks for: planned, checked and written as the commands do it. */

import { FlotillaError, type KubeObject } from '@flotilla/api';
import type { ActionRequest, ChangeAnswer } from '@flotilla/api/answers';
import { type Client, checkOptions } from '@flotilla/runtime';
import { z } from 'zod';
import { makeChange, type PlannedChange } from '../steer/change.ts';
import { planHold, planUnhold } from '../steer/hold.ts';
import { Reason } from '../steer/options.ts';
import { planPause, planResume } from '../steer/pause.ts';
import { planRetry } from '../steer/retry.ts';
import { planWindow, windowFieldOf } from '../steer/window.ts';
import { type AskDeps, upgradeRefOf } from './asks.ts';

const Reasons = z.object({ reason: Reason.optional() });

/**
 * Makes a change, or has the server check it.
 * @throws FlotillaError `FLOTILLA_ENDED` with the reason why there is nothing to change
 */
export async function act(
  { client, hubNamespace }: Pick<AskDeps, 'client' | 'hubNamespace'>,
  request: ActionRequest,
): Promise<ChangeAnswer> {
  const { action, of, clusters = [], window } = request;
  const { reason } = checkOptions(Reasons, { reason: request.reason || undefined });
  switch (action) {
    case 'hold':
      return makeChange(client, await planHold(client, of, reason), request);
    case 'unhold':
      return makeChange(client, await planUnhold(client, of), request);
    case 'resume':
      return makeChange(client, await planResume(client, upgradeRefOf(of), { hubNamespace }), request);
    case 'pause':
      return make(client, await planPause(client, upgradeRefOf(of), { hubNamespace, reason }), request);
    case 'retry':
      return make(client, await planRetry(client, upgradeRefOf(of), { hubNamespace, clusters }), request);
    case 'window-set':
    case 'window-clear': {
      const wish = { hubNamespace, window: action === 'window-set' ? (window ?? {}) : undefined, nameOf: windowFieldOf };
      return make(client, await planWindow(client, upgradeRefOf(of), wish), request);
    }
  }
}

async function make<T extends KubeObject>(client: Client, planned: PlannedChange<T>, request: ActionRequest): Promise<ChangeAnswer> {
  if ('refused' in planned) throw new FlotillaError('FLOTILLA_ENDED', planned.refused);
  return makeChange(client, planned, request);
}
