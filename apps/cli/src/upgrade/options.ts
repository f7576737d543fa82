import { OPERATOR_NAMESPACE } from '@flotilla/api/managed';
import { z } from 'zod';
import { AccessOptions, JsonOptions } from '../hub/options.ts';

/** Options of `upgrade plan` and `upgrade status`. */
export const UpgradeOptions = AccessOptions.extend({
  file: z.string().min(1, { error: 'is empty: give the path of an UpgradeConfig' }).optional(),
  namespace: z.string().min(1, { error: 'is empty: give a namespace' }).default(OPERATOR_NAMESPACE),
  ...JsonOptions.shape,
});
export type UpgradeOptions = z.output<typeof UpgradeOptions>;
