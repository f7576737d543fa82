/** Changes that the page asks for: planned, checked and written as the commands do it. */

import { FlotillaError } from '@flotilla/api';
import type { ActionRequest, ChangeAnswer } from '@flotilla/api/answers';
import { checkOptions } from '@flotilla/runtime';
import { z } from 'zod';
import { makeChange, Reason } from '../steer/change.ts';
import { HELD, planHold, planUnhold } from '../steer/hold.ts';
import { planPause, planResume } from '../steer/pause.ts';
import { type AskDeps, upgradeRefOf } from './asks.ts';

const Reasons = z.object({ reason: Reason.optional() });

/**
 * Makes a change, or has the server check it.
 * @throws FlotillaError `FLOTILLA_ENDED` for an upgrade that has ended
 */
export async function act({ client, hubNamespace }: AskDeps, { action, of, reason: given, dryRun }: ActionRequest): Promise<ChangeAnswer> {
  const { reason } = checkOptions(Reasons, { reason: given || undefined });
  switch (action) {
    case 'hold':
      return makeChange(client, await planHold(client, of, reason ?? HELD), dryRun);
    case 'unhold':
      return makeChange(client, await planUnhold(client, of), dryRun);
    case 'resume':
      return makeChange(client, await planResume(client, upgradeRefOf(of), { hubNamespace }), dryRun);
    case 'pause': {
      const planned = await planPause(client, upgradeRefOf(of), { hubNamespace, reason });
      if ('refused' in planned) throw new FlotillaError('FLOTILLA_ENDED', planned.refused);
      return makeChange(client, planned, dryRun);
    }
  }
}
