// The process that is killed: downloads the images named in its one argument, prints one line of JSON and ends.
import { errorMessage } from '@flotilla/api';
import { mapConcurrently } from '@flotilla/pace';
import { downloadImage, OciLayout, parseImageReference, RegistryClient } from '@flotilla/registry';
import { z } from 'zod';

const Job = z.object({ directory: z.string(), images: z.array(z.string()), insecureHost: z.string() });

// Ends with the process that started it, however that one ends.
process.stdin.on('end', () => process.exit(3)).resume();

const job = Job.parse(JSON.parse(process.argv[2] ?? ''));
const layout = await OciLayout.open(job.directory);
const client = new RegistryClient({ insecureHosts: [job.insecureHost], retry: { attempts: 10, baseMs: 20, maxMs: 500 } });
const platform = { os: 'linux', architecture: 'amd64' };
const failures: string[] = [];
await mapConcurrently(job.images, 4, (text) =>
  downloadImage(parseImageReference(text), { client, layout, platform }).catch((error: unknown) => failures.push(errorMessage(error))),
);
process.stdout.write(`${JSON.stringify(failures)}\n`, () => process.exit(failures.length > 0 ? 1 : 0));
