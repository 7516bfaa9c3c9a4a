// A client-go informer on the bench's server. For each line of input it prints the seconds from the end of the list
// until its handler has been told of the last change. Arguments: URL, last resource version, "typed" or "dynamic".
package main

import (
	"bufio"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func podInformer(url, kind string) cache.SharedIndexInformer {
	config := &rest.Config{Host: url}
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	if kind == "typed" {
		factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
		return factory.Core().V1().Pods().Informer()
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), 0)
	return factory.ForResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Informer()
}

func secondsOf(url, last, kind string) float64 {
	told, stop := make(chan struct{}), make(chan struct{})
	defer close(stop)
	note := func(object any) {
		if found, err := meta.Accessor(object); err == nil && found.GetResourceVersion() == last {
			close(told)
		}
	}
	informer := podInformer(url, kind)
	handler := cache.ResourceEventHandlerFuncs{AddFunc: note, UpdateFunc: func(_, object any) { note(object) }}
	if _, err := informer.AddEventHandler(handler); err != nil {
		panic(err)
	}
	go informer.Run(stop)
	for !informer.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	begun := time.Now()
	<-told
	return time.Since(begun).Seconds()
}

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(secondsOf(os.Args[1], os.Args[2], os.Args[3]))
	}
}
