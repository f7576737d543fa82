import { z } from 'zod';
import { file } from '../hub/options.ts';
import { flag, option } from '../option.ts';

/** Options of commands that read a registry. */
export const registry = {
  pullSecret: option('<file>', file, "credentials of the registry, as Docker's config.json"),
  registryCa: option('<file>', file, "PEM of the registry's authority"),
  insecureRegistry: option('<host...>', z.array(z.string()).default([]), 'registries that are spoken to over plain HTTP'),
};
const RegistryOptions = z.object(registry);
/** Access to a registry. */
export type RegistryOptions = z.output<typeof RegistryOptions>;

/** Options of `mirror`. */
export const MirrorOptions = z.object({
  from: option(
    '<folder>',
    z.string({ error: 'is required: folder of a release, as in --from flotilla-0.1.0' }).min(1, { error: 'is empty: give a folder' }),
    'the release: the folder that npm run release made, or a copy of it',
  ),
  to: option(
    '<registry>',
    z
      .string({ error: 'is required: registry and path, as in --to mirror.example.com:5000/flotilla' })
      .regex(/^[^@\s/:]+(:\d+)?(\/[^@\s/:]+)*$/, {
        error: 'must be host[:port][/path] without a scheme, a tag, a digest or a slash at the end',
      }),
    'registry and path to fill, as in mirror.example.com:5000/flotilla',
  ),
  authfile: option('<file>', file, "credentials of the registry, as Docker's config.json"),
  registryCa: registry.registryCa,
  insecureRegistry: flag('speak plain HTTP to the registry'),
});
export type MirrorOptions = z.output<typeof MirrorOptions>;
