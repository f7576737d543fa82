import { z } from 'zod';

/** An operating system and a processor, in Go's words (`linux`, `amd64`). */
export const Platform = z.object({ os: z.string().default(''), architecture: z.string().default(''), variant: z.string().optional() });
export type Platform = z.output<typeof Platform>;

/** Go's name by Node's, where they differ. */
const PROCESSORS: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' };

/** Platform of the running process, the default of pulls. */
export const currentPlatform = (): Platform => ({ os: 'linux', architecture: PROCESSORS[process.arch] ?? process.arch });

/**
 * Ranks an offered platform by containerd's order: 0 is the wanted one, then what its processor runs too. Undefined where it does not run. A runtime
 * that asks for no variant of amd64 takes none but the plain one.
 */
export function platformRank(wanted: Platform, offered: Platform): number | undefined {
  const name = nameOf(offered);
  const rank = runnable(wanted).indexOf(name);
  return rank < 0 ? undefined : rank;
}

/** `linux/arm/v7`, with containerd's other spellings of a processor and its default variants. */
function nameOf({ os, architecture, variant = '' }: Platform): string {
  const [processor, version] = processorOf(architecture.toLowerCase(), variant.toLowerCase());
  return [os.toLowerCase() || 'linux', processor, version].filter((part) => part !== '').join('/');
}

function processorOf(architecture: string, variant: string): [string, string] {
  if (architecture === 'x86_64' || architecture === 'x86-64' || architecture === 'amd64') return ['amd64', variant === 'v1' ? '' : variant];
  if (architecture === 'i386') return ['386', ''];
  if (architecture === 'aarch64' || architecture === 'arm64') return ['arm64', variant === '8' || variant === 'v8' ? '' : variant];
  if (architecture === 'armhf') return ['arm', 'v7'];
  if (architecture === 'armel') return ['arm', 'v6'];
  if (architecture === 'arm') return ['arm', variant === '' ? 'v7' : variant.replace(/^(\d)$/, 'v$1')];
  return [architecture, variant];
}

/** Platforms that a processor runs, the best first. */
function runnable(wanted: Platform): string[] {
  const [os = '', processor = '', version = ''] = nameOf(wanted).split('/');
  const named = (name: string, variant = ''): string => nameOf({ os, architecture: name, variant });
  const below = (name: string, from: number, to: number): string[] =>
    Array.from({ length: Math.max(0, from - to + 1) }, (_, i) => named(name, `v${from - i}`));
  const number = Number(version.slice(1));
  if (processor === 'amd64') return [...(number > 1 ? below('amd64', number, 2) : []), named('amd64'), named('386')];
  if (processor === 'arm64') return [...(version === '' ? [] : [named('arm64', version)]), named('arm64'), ...below('arm', 8, 5)];
  return processor === 'arm' ? below('arm', number, 5) : [named(processor, version)];
}
