import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '@flotilla/control-plane/processes';
import type { LayerFile } from '@flotilla/registry/testing';
import { z } from 'zod';
import { licenceTexts } from '../images/app-bundle.ts';
import { billOf, npmComponents } from '../images/sbom.ts';
import { archive } from './archive.ts';
import { bundleCli, STARTER } from './cli-bundle.ts';
import { cliFolders } from './cli-folder.ts';
import { type FetchedFolder, homebrewFormula, krewManifest } from './package-manifests.ts';
import { type ReleaseSource, repositoryOf } from './source.ts';

/** What the command line is packaged with. */
interface CliOptions {
  readonly root: string;
  /** Folder of the release. */
  readonly output: string;
  readonly source: ReleaseSource;
  /** Package of the agent's chart, which `join` installs. */
  readonly spokeChart: string;
  readonly log: (message: string) => void;
}

/** Shell → file of its completion script. */
const COMPLETIONS = { bash: 'flotilla.bash', zsh: '_flotilla', fish: 'flotilla.fish', powershell: 'flotilla.ps1' } as const;

/** Writes the command line as one file, as an npm package and as folders for Linux and macOS, with completions, bill of materials and licences. */
export async function packageCli({ root, output, source, spokeChart, log }: CliOptions): Promise<void> {
  const { oneFile: program, files, packageFolders } = await bundleCli(root, source);
  for (const folder of ['cli', 'completions', 'licences', 'boms']) await mkdir(join(output, folder), { recursive: true });
  const oneFile = join(output, 'cli', 'flotilla');
  await writeFile(oneFile, program);
  await chmod(oneFile, 0o755);
  const completions = await writeCompletions(oneFile, join(output, 'completions'));

  const licences = await licenceTexts(root, packageFolders);
  await writeFile(join(output, 'licences', 'cli.txt'), licences);
  const npm = npmComponents(packageFolders, await readFile(join(root, 'package-lock.json'), 'utf8'));
  const bill = `${JSON.stringify(billOf({ name: 'cli', version: source.version }, npm), undefined, 2)}\n`;
  await writeFile(join(output, 'boms', 'cli.cdx.json'), bill);

  const shared = [
    text('README.md', README),
    text('LICENSE', await readFile(join(root, 'LICENSE'), 'utf8')),
    text('licences.txt', licences),
    ...completions.map(([name, script]) => text(`completions/${name}`, script)),
    ...[...files].map(([path, bytes]) => ({ path, ...(path === STARTER && { mode: 0o755 }), content: { bytes } })),
    { path: 'flotilla-spoke.tgz', content: { bytes: await readFile(spokeChart) } },
  ];
  const packed = [text('package.json', await manifest(root, source)), text('bom.cdx.json', bill), ...shared];
  const inPackage = packed.map((file) => ({ ...file, path: `package/${file.path}` }));
  await writeFile(join(output, 'cli', `flotilla-${source.version}.tgz`), await archive(inPackage, source.committedAt));
  const folders: FetchedFolder[] = [];
  for await (const { bytes, ...folder } of cliFolders({ root, source, files: shared, npm, log })) {
    await writeFile(join(output, 'cli', folder.archive), bytes);
    folders.push({ ...folder, sha256: createHash('sha256').update(bytes).digest('hex') });
  }
  const manifests = { version: source.version, repository: await repositoryOf(root), folders };
  await writeFile(join(output, 'cli', 'krew.yaml'), krewManifest(manifests));
  await writeFile(join(output, 'cli', 'flotilla.rb'), homebrewFormula(manifests));
}

const text = (path: string, bytes: string): LayerFile => ({ path, content: { bytes } });

async function writeCompletions(program: string, folder: string): Promise<[string, string][]> {
  const written: [string, string][] = [];
  for (const [shell, name] of Object.entries(COMPLETIONS)) {
    const script = await runCommand(process.execPath, [program, 'completion', shell]);
    await writeFile(join(folder, name), script);
    written.push([name, script]);
  }
  return written;
}

async function manifest(root: string, { version }: ReleaseSource): Promise<string> {
  const ours = z
    .object({ license: z.string(), engines: z.object({ node: z.string() }) })
    .parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
  const bin = { flotilla: STARTER, 'kubectl-flotilla': STARTER };
  const description = 'flotilla: the command line of Flotilla, also as plugin of kubectl';
  return `${JSON.stringify({ name: 'flotilla', version, description, ...ours, type: 'module', bin }, undefined, 2)}\n`;
}

const README = `# flotilla

The command line of Flotilla: \`flotilla --help\`, or \`kubectl flotilla --help\`. It needs Node 24.11 or later, which the folders for Linux bring along as \`node\`.
Completion scripts for bash, zsh, fish and PowerShell are in \`completions\`; \`flotilla completion SHELL\` prints them.
`;
