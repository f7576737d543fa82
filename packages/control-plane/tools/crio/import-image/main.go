// import-image STORE STATE ARCHIVE NAME: puts the one image of an OCI archive into the store of a CRI-O that need not run.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/containers/image/v5/copy"
	"github.com/containers/image/v5/oci/archive"
	"github.com/containers/image/v5/signature"
	storagetransport "github.com/containers/image/v5/storage"
	"github.com/containers/image/v5/types"
	"github.com/containers/storage"
	"github.com/containers/storage/pkg/reexec"
)

func run(root, runRoot, file, name string) error {
	store, err := storage.GetStore(storage.StoreOptions{GraphRoot: root, RunRoot: runRoot, GraphDriverName: "overlay"})
	if err != nil {
		return fmt.Errorf("opening the store %s: %w", root, err)
	}
	defer func() { _, _ = store.Shutdown(true) }()
	source, err := archive.NewReference(file, "")
	if err != nil {
		return err
	}
	target, err := storagetransport.Transport.ParseStoreReference(store, name)
	if err != nil {
		return err
	}
	anything := []signature.PolicyRequirement{signature.NewPRInsecureAcceptAnything()}
	policy, err := signature.NewPolicyContext(&signature.Policy{Default: anything})
	if err != nil {
		return err
	}
	_, err = copy.Image(context.Background(), policy, target, source, &copy.Options{SourceCtx: &types.SystemContext{}})
	return err
}

func main() {
	// The store unpacks layers in a process of its own, which is this program again.
	if reexec.Init() {
		return
	}
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: import-image STORE STATE ARCHIVE NAME")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
