tracegenExperts({"layer":3,"pass":[3,4,5,6,7,8,9],"token":[0,1,2,3,4,5,6],"by_weight":true,"experts":[[0,5],[5,0],[7,5],[5,0],[3,0],[5,0],[0,5]]});
