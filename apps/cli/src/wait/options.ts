import { z } from 'zod';
import { access, Duration, hub, json, namespace } from '../hub/options.ts';
import { option } from '../option.ts';

const Goal = z.string().regex(/^(?:cached|done|batch=[1-9]\d{0,4})$/, { error: 'must be cached, done or batch=N' });

/** Options of `wait`. */
export const WaitOptions = z.object({
  for: option('<state>', Goal.default('done'), 'cached, done, or batch=N: that batch has begun'),
  timeout: option('<duration>', Duration.prefault('30m'), 'how long, such as 90s, 30m, 4h (default 30m; 0 looks once)'),
  ...namespace,
  ...json,
  ...hub,
  ...access,
});
export type WaitOptions = z.output<typeof WaitOptions>;
