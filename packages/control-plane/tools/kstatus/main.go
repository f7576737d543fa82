// Says what kstatus makes of the objects on standard input, a JSON document each: a line each.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	decoder := json.NewDecoder(os.Stdin)
	for {
		var text json.RawMessage
		if err := decoder.Decode(&text); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		// It has whole numbers as integers, as kstatus expects them.
		var object unstructured.Unstructured
		if err := object.UnmarshalJSON(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		result, err := status.Compute(&object)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(result.Status)
	}
}
