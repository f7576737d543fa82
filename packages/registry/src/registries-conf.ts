import { errorMessage } from '@flotilla/api';
import { parse } from 'smol-toml';
import { z } from 'zod';
import type { RegistryRule } from './endpoint.ts';
import { RegistryError, RegistryErrorCode } from './errors.ts';

/** One file of containers-registries.conf(5), version 2. */
export interface RegistriesFile {
  readonly name: string;
  readonly text: string;
}

/** `host[:port][/path]`; a trailing slash is ignored. */
const location = z
  .string()
  .max(512)
  .transform((text) => text.replace(/(?<!\/)\/+$/, ''))
  .refine((text) => !text.includes('://'), 'must be host[:port][/path] without a scheme')
  .refine((text) => !/[\s?#]/.test(text), 'must be host[:port][/path]');
const mirrorLocation = location.refine((text) => text !== '' && !text.startsWith('*'), 'is needed, without a wildcard');

const MirrorTable = z.object({
  location: mirrorLocation,
  insecure: z.boolean().default(false),
  'pull-from-mirror': z.enum(['', 'all', 'digest-only', 'tag-only']).default(''),
});

const RegistryTable = z
  .object({
    prefix: location.default(''),
    location: location.default(''),
    insecure: z.boolean().default(false),
    blocked: z.boolean().default(false),
    'mirror-by-digest-only': z.boolean().default(false),
    mirror: z.array(MirrorTable).max(100).default([]),
  })
  .refine((table) => table.location !== '' || table.prefix.startsWith('*.'), {
    path: ['location'],
    error: 'is needed unless prefix is *.domain',
  })
  .refine((table) => !table.location.startsWith('*'), { path: ['location'], error: 'must not have a wildcard; only prefix may' })
  .refine((table) => !/\*/.test(table.prefix.replace(/^\*\./, '')), { path: ['prefix'], error: 'may have a wildcard only as *.domain' });

const RegistriesTable = z.object({ registry: z.array(RegistryTable).max(5_000).default([]) });

/**
 * Parses a node's `registries.conf` and the files in `registries.conf.d`, in order. A later file's table replaces an earlier one's of the same
 * prefix, as in container runtimes.
 * @throws RegistryError `FLOTILLA_REGISTRY_BAD_CONFIG` naming file and field
 */
export function parseRegistriesConf(files: readonly RegistriesFile[]): RegistryRule[] {
  const rules = new Map<string, RegistryRule>();
  for (const file of files) {
    // within one file the first table of a prefix wins
    const own = new Map<string, RegistryRule>();
    for (const rule of readFile(file)) if (!own.has(rule.prefix)) own.set(rule.prefix, rule);
    for (const [prefix, rule] of own) rules.set(prefix, rule);
  }
  return [...rules.values()];
}

function readFile({ name, text }: RegistriesFile): RegistryRule[] {
  let content: unknown;
  try {
    content = parse(text);
  } catch (error) {
    throw refused(name, `is not TOML: ${errorMessage(error).slice(0, 300)}`);
  }
  const parsed = RegistriesTable.safeParse(content);
  if (parsed.success) return parsed.data.registry.map(toRule);
  const [issue] = parsed.error.issues;
  throw refused(name, `${issue?.path.join('.')} ${issue?.message}`);
}

function toRule(table: z.output<typeof RegistryTable>): RegistryRule {
  const digestOnly = table['mirror-by-digest-only'];
  return {
    prefix: table.prefix || table.location,
    location: table.location,
    scheme: table.insecure ? 'either' : 'https',
    blocked: table.blocked,
    mirrors: table.mirror.map(({ location, insecure, 'pull-from-mirror': use }) => ({
      location,
      scheme: insecure ? 'either' : 'https',
      use: digestOnly ? 'digest-only' : use || 'all',
    })),
  };
}

const refused = (file: string, problem: string): RegistryError =>
  new RegistryError(RegistryErrorCode.badConfig, `${file}: ${problem}; correct the file or leave it out`);
