import { stringify } from 'yaml';

/** A folder of the command line as package managers fetch it. */
export interface FetchedFolder {
  readonly os: 'linux' | 'darwin';
  readonly architectures: readonly ('amd64' | 'arm64')[];
  /** Name of the archive, which ends in `.tar.gz`; the folder in it has the rest as its name. */
  readonly archive: string;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** Parts of the manifests. */
interface ManifestOptions {
  readonly version: string;
  /** Address of the repository. */
  readonly repository: string;
  readonly folders: readonly FetchedFolder[];
}

const SUMMARY = 'Upgrades fleets of Kubernetes and OpenShift clusters';

const addressOf = ({ repository, version }: ManifestOptions, { archive }: FetchedFolder): string =>
  `${repository}/releases/download/v${version}/${archive}`;

/** The manifest by which krew installs `kubectl flotilla`. */
export const krewManifest = (options: ManifestOptions): string =>
  stringify(
    {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'flotilla' },
      spec: {
        version: `v${options.version}`,
        homepage: options.repository,
        shortDescription: SUMMARY,
        description: 'Plans, follows, explains and steers the upgrades of a hub of Flotilla.\n',
        caveats: 'On macOS it needs Node 24.11 or later in PATH.\n',
        platforms: options.folders.flatMap((folder) =>
          folder.architectures.map((arch) => ({
            selector: { matchLabels: { os: folder.os, arch } },
            uri: addressOf(options, folder),
            sha256: folder.sha256,
            bin: `${folder.archive.replace(/\.tar\.gz$/, '')}/flotilla`,
          })),
        ),
      },
    },
    { lineWidth: 0 },
  );

/** The formula by which Homebrew installs `flotilla`. */
export function homebrewFormula(options: ManifestOptions): string {
  const fetched = (os: FetchedFolder['os'], architecture: 'amd64' | 'arm64', indent: string): string => {
    const folder = options.folders.find((each) => each.os === os && each.architectures.includes(architecture));
    return folder ? `${indent}url "${addressOf(options, folder)}"\n${indent}sha256 "${folder.sha256}"` : '';
  };
  return `class Flotilla < Formula
  desc "${SUMMARY}"
  homepage "${options.repository}"
  version "${options.version}"
  license "Apache-2.0"

  on_macos do
${fetched('darwin', 'arm64', '    ')}
    depends_on "node@24"
  end

  on_linux do
    on_intel do
${fetched('linux', 'amd64', '      ')}
    end
    on_arm do
${fetched('linux', 'arm64', '      ')}
    end
  end

  def install
    libexec.install Dir["*"]
    if OS.mac?
      (bin/"flotilla").write_env_script libexec/"flotilla", PATH: "#{Formula["node@24"].opt_bin}:$PATH"
    else
      bin.install_symlink libexec/"flotilla"
    end
    bin.install_symlink "flotilla" => "kubectl-flotilla"
    bash_completion.install libexec/"completions/flotilla.bash" => "flotilla"
    zsh_completion.install libexec/"completions/_flotilla"
    fish_completion.install libexec/"completions/flotilla.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/flotilla --version")
  end
end
`;
}
