import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { type PayloadFile, PayloadPath, payloadLimits } from './payload/layout.ts';

/**
 * The files of a payload that lies in a folder. Links are followed.
 * @throws FlotillaError `FLOTILLA_PAYLOAD_FOLDER` for a folder that cannot be read
 */
export async function* readPayloadFolder(folder: string): AsyncGenerator<PayloadFile> {
  await refuseNoFolder(folder);
  for (const part of [PayloadPath.own, PayloadPath.release]) {
    for (const name of await namesIn(join(folder, part))) {
      const path = join(folder, part, name);
      const found = await stat(path).catch((cause: unknown) => refuse(path, cause));
      if (!found.isFile()) continue;
      if (found.size > payloadLimits.fileBytes)
        throw new FlotillaError(
          'FLOTILLA_PAYLOAD_FOLDER',
          `${path} has ${found.size} bytes, at most ${payloadLimits.fileBytes} are read: split the file`,
        );
      yield { path: `${part}/${name}`, content: await readFile(path).catch((cause: unknown) => refuse(path, cause)) };
    }
  }
}

async function refuseNoFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch((cause: unknown) => refuse(folder, cause));
  if (!found.isDirectory())
    throw new FlotillaError(
      'FLOTILLA_PAYLOAD_FOLDER',
      `${folder} is no folder: give the root of a release, which holds ${PayloadPath.own}/ and ${PayloadPath.release}/`,
    );
}

/** Names in a folder; none where there is no such folder: what is missing is for the payload's own reading to say. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return [];
    return refuse(folder, cause);
  }
}

function refuse(path: string, cause: unknown): never {
  throw new FlotillaError('FLOTILLA_PAYLOAD_FOLDER', `${path} cannot be read: ${errorMessage(cause)}`, { cause });
}
