tracegenExperts({"layer":2,"pass":[3,4,5,6,7,8,9],"token":[0,1,2,3,4,5,6],"by_weight":true,"experts":[[3,0],[2,0],[3,4],[3,2],[3,4],[3,5],[3,0]]});
