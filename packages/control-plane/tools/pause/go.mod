// A program that does nothing: container of a pod's sandbox and first process of a node.
module flotilla.dev/tools/pause

go 1.26.0
