import { z } from 'zod';
import { file } from '../hub/options.ts';
import { option } from '../option.ts';

/** Options of commands that read a registry. */
export const registry = {
  pullSecret: option('<file>', file, "credentials of the registry, as Docker's config.json"),
  registryCa: option('<file>', file, "PEM of the registry's authority"),
  insecureRegistry: option('<host...>', z.array(z.string()).default([]), 'registries that are spoken to over plain HTTP'),
};
const RegistryOptions = z.object(registry);
/** Access to a registry. */
export type RegistryOptions = z.output<typeof RegistryOptions>;
