/** The plan of an upgrade that is applied, as `flotilla plan` makes it. */
import { FlotillaError } from '@flotilla/api';
import type { PlanAnswer } from '@flotilla/api/answers';
import { checkOptions } from '@flotilla/runtime';
import { z } from 'zod';
import { makeAnswer } from '../plan/command.ts';
import { PlanOptions } from '../plan/options.ts';
import { observe, readGiven } from '../plan/read.ts';
import type { RegistryOptions } from '../registry/options.ts';
import { type AskDeps, upgradeRefOf } from './asks.ts';

/** Figures that the page may vary, as its question has them. */
export const PlanWish = z.object({
  rate: z.string().max(20).optional(),
  batchMinutes: z.string().max(20).optional(),
  images: z.enum(['yes', 'no']).optional(),
});

/** Where images are looked up, as the options of the command say. */
export type Registry = RegistryOptions & { readonly registriesConf?: string | undefined };

/** Plans an upgrade, and inspects nothing for it. @throws FlotillaError `FLOTILLA_CONFIG` for a rate or a time that is none */
export async function askPlan(
  { client }: AskDeps,
  registry: Registry | undefined,
  upgrade: string,
  wish: z.output<typeof PlanWish>,
): Promise<PlanAnswer> {
  const { rate, batchMinutes, images } = wish;
  if (images === 'yes' && !registry)
    throw new FlotillaError('FLOTILLA_ENDED', 'a console of several people asks no registry: leave the images out, or run flotilla plan');
  const options = checkOptions(PlanOptions, { ...registry, rate, batchMinutes, images: images === 'yes' });
  const observed = await observe(client, await readGiven(client, upgradeRefOf(upgrade)));
  return makeAnswer(client, observed, options);
}
