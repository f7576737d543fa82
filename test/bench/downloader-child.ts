// The process that is killed: downloads the images named in its one argument, prints one line of JSON and ends.
import { downloadImages, OciLayout, parseImageReference, RegistryClient } from '@flotilla/registry';
import { z } from 'zod';

const Job = z.object({ directory: z.string(), images: z.array(z.string()), insecureHost: z.string() });

// Ends with the process that started it, however that one ends.
process.stdin.on('end', () => process.exit(3)).resume();

const job = Job.parse(JSON.parse(process.argv[2] ?? ''));
const layout = await OciLayout.open(job.directory);
const client = new RegistryClient({ insecureHosts: [job.insecureHost], retry: { attempts: 10, baseMs: 20, maxMs: 500 } });
const results = await downloadImages({
  client,
  layout,
  images: job.images.map((text) => parseImageReference(text)),
  platform: { os: 'linux', architecture: 'amd64' },
});
process.stdout.write(`${JSON.stringify(results.map(({ status, digest, error }) => ({ status, digest, error: error?.message })))}\n`, () => {
  process.exit(results.some((result) => result.status === 'failed') ? 1 : 0);
});
